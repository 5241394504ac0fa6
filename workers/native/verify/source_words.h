// What source words mean (numeric-formats.md 3.1): BF16, binary16 and binary32, as exact integers and as binary64.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "exact.h"

namespace ninforge::verify {
// Unnamed, so that an object file compiled for one instruction set never lends its copy to another.
namespace {

template <class Word>
Word load(const std::uint8_t* bytes, std::size_t index) {
    Word word;
    std::memcpy(&word, bytes + index * sizeof(Word), sizeof(Word));
    return word;
}

// Fields of a word with a sign bit on top, then exponent and fraction.
template <class WordType, int kFractionBits, int kBias>
struct FloatWords {
    using Word = WordType;
    static constexpr int kFraction = kFractionBits;
    static constexpr int kSignBit = 8 * sizeof(Word) - 1;
    static constexpr std::uint64_t kSign = std::uint64_t{1} << kSignBit;
    static constexpr std::uint64_t kOne = std::uint64_t{1} << kFractionBits;
    static constexpr std::uint64_t kInfinity = kSign - kOne;   // all exponent bits, no fraction

    static std::uint64_t magnitude(std::uint64_t word) { return word & (kSign - 1); }
    static bool negative(std::uint64_t word) { return (word & kSign) != 0; }
    static bool finite(std::uint64_t word) { return magnitude(word) < kInfinity; }
    static std::uint64_t fraction(std::uint64_t word) { return word & (kOne - 1); }

    // The absolute value of a finite word.
    static Exact exact(std::uint64_t word) {
        const int field = static_cast<int>(magnitude(word) >> kFractionBits);
        return field == 0 ? Exact{fraction(word), 1 - kBias - kFractionBits}
                          : Exact{fraction(word) | kOne, field - kBias - kFractionBits};
    }
};

struct Bf16Words : FloatWords<std::uint16_t, 7, 127> {
    static double value(Word word) {
        return static_cast<double>(__builtin_bit_cast(float, static_cast<std::uint32_t>(word) << 16));
    }
};

struct F16Words : FloatWords<std::uint16_t, 10, 15> {
    static double value(Word word) {
        // As binary64: the same fraction and a rebiased exponent; below 2^-14 an integer count of 2^-24.
        const std::uint64_t bits = (magnitude(word) << 42) + (std::uint64_t{1023 - 15} << 52);
        const double normal = __builtin_bit_cast(double, bits);
        const double subnormal = static_cast<double>(word & 0x3FF) * 0x1p-24;
        const double absolute = (word & 0x7C00) == 0 ? subnormal : normal;
        return (word & 0x8000) == 0 ? absolute : -absolute;
    }
};

struct F32Words : FloatWords<std::uint32_t, 23, 127> {
    static double value(Word word) { return static_cast<double>(__builtin_bit_cast(float, word)); }
};

struct F64Words : FloatWords<std::uint64_t, 52, 1023> {};

// The largest magnitude of 16-bit or 32-bit source words.
template <class Words>
std::uint64_t largest_magnitude(const std::uint8_t* words, std::size_t count) {
    std::int32_t largest = 0;
    for (std::size_t i = 0; i < count; ++i) {
        const auto magnitude =
            static_cast<std::int32_t>(Words::magnitude(load<typename Words::Word>(words, i)));
        largest = magnitude > largest ? magnitude : largest;
    }
    return static_cast<std::uint64_t>(largest);
}

// A finite or infinite binary32 word rounded to BF16: the upper half, or the next one where the lower half is more than
// half of a unit, or exactly half and the upper half odd.
inline std::uint32_t nearest_bf16(std::uint32_t binary32) {
    const std::uint32_t upper = binary32 >> 16, lower = binary32 & 0xFFFF;
    return upper + ((lower > 0x8000) | ((lower == 0x8000) & (upper & 1)));
}

}  // namespace
}  // namespace ninforge::verify
