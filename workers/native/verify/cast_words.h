// Casts of recipe.md over many words, by selections between integers that compilers turn into vector code. What is refused,
// and every cast to I32 of a number with a fraction field, is left to the derivation word by word.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "../dtypes.h"
#include "source_words.h"

namespace ninforge::verify {
namespace {

// A word of binary32 that means the same: sign, exponent and fraction, moved.
struct Bf16ToBinary32 {
    using Word = std::uint16_t;
    static std::uint32_t binary32(std::uint32_t word) { return word << 16; }
};

struct F16ToBinary32 {
    using Word = std::uint16_t;
    static std::uint32_t binary32(std::uint32_t word) {
        const std::uint32_t exponent = word >> 10 & 31, fraction = word & 0x3FF, sign = (word & 0x8000) << 16;
        const std::uint32_t field = exponent == 31 ? 255 : exponent + (127 - 15);
        // A subnormal is a count of 2^-24.
        const float subnormal = static_cast<float>(static_cast<std::int32_t>(fraction)) * 0x1p-24f;
        return sign | (exponent == 0 ? __builtin_bit_cast(std::uint32_t, subnormal) : field << 23 | fraction << 13);
    }
};

struct F32ToBinary32 {
    using Word = std::uint32_t;
    static std::uint32_t binary32(std::uint32_t word) { return word; }
};

template <class From>
struct SameFp32 {
    using Word = typename From::Word;
    using Result = std::uint32_t;
    static Result result(Word word) { return From::binary32(word); }
    static bool refused(Word) { return false; }
};

template <class From>
struct SameBf16 {
    using Word = typename From::Word;
    using Result = std::uint16_t;
    static Result result(Word word) { return static_cast<Result>(From::binary32(word) >> 16); }
    static bool refused(Word word) { return (From::binary32(word) & 0xFFFF) != 0; }
};

template <class From>
struct NearestBf16 {
    using Word = typename From::Word;
    using Result = std::uint16_t;
    // The upper half, or the next one where the lower half is more than half of a unit, or half and the upper half odd.
    static Result result(Word word) {
        const std::uint32_t wide = From::binary32(word), odd = wide >> 16 & 1;
        return static_cast<Result>((wide >> 16) + ((wide & 0xFFFF) + odd > 0x8000 ? 1 : 0));
    }
    // An infinity or NaN, or what rounds to an infinity: the upper half of the largest finite word is 0x7F7F.
    static bool refused(Word word) { return (From::binary32(word) & 0x7FFFFFFF) >= 0x7F7F8000; }
};

template <class Integer>
struct SameI32 {
    using Word = std::make_unsigned_t<Integer>;
    using Result = std::uint32_t;
    static Result result(Word word) { return static_cast<Result>(static_cast<Integer>(word)); }
    static bool refused(Word word) {
        const auto value = static_cast<Integer>(word);
        if constexpr (sizeof(Integer) < 4) return false;
        if constexpr (std::is_signed_v<Integer>) return value != static_cast<std::int32_t>(value);
        return value > 0x7FFFFFFF;
    }
};

template <class Rule>
std::size_t derive_blocks(const std::uint8_t* source, std::size_t count, std::uint8_t* out) {
    using Word = typename Rule::Word;
    using Result = typename Rule::Result;
    constexpr std::size_t kBlock = 4096;
    for (std::size_t start = 0; start < count; start += kBlock) {
        const std::size_t length = count - start < kBlock ? count - start : kBlock;
        const std::uint8_t* words = source + start * sizeof(Word);
        std::uint8_t* results = out + start * sizeof(Result);
        std::uint32_t refused = 0;
        for (std::size_t i = 0; i < length; ++i) {
            const Word word = load<Word>(words, i);
            const Result result = Rule::result(word);
            std::memcpy(results + i * sizeof(Result), &result, sizeof(Result));
            refused |= Rule::refused(word);
        }
        if (refused != 0) return start;
    }
    return count;
}

inline std::size_t derive_i32_words(const std::uint8_t* source, Dtype from, std::size_t count, std::uint8_t* out) {
    switch (from) {
        case Dtype::kI8:
            return derive_blocks<SameI32<std::int8_t>>(source, count, out);
        case Dtype::kI16:
            return derive_blocks<SameI32<std::int16_t>>(source, count, out);
        case Dtype::kI64:
            return derive_blocks<SameI32<std::int64_t>>(source, count, out);
        case Dtype::kU8:
            return derive_blocks<SameI32<std::uint8_t>>(source, count, out);
        case Dtype::kU16:
            return derive_blocks<SameI32<std::uint16_t>>(source, count, out);
        case Dtype::kU32:
            return derive_blocks<SameI32<std::uint32_t>>(source, count, out);
        case Dtype::kU64:
            return derive_blocks<SameI32<std::uint64_t>>(source, count, out);
        default:
            return 0;
    }
}

// How many words were made before the first that is refused, or left to the derivation word by word.
inline std::size_t derive_words(const std::uint8_t* source, Dtype from, DirectFormat to, CastRule rule, std::size_t count,
                                std::uint8_t* out) {
    if (to == DirectFormat::kI32) return derive_i32_words(source, from, count, out);
    if (to == DirectFormat::kFp32)
        return from == Dtype::kBf16 ? derive_blocks<SameFp32<Bf16ToBinary32>>(source, count, out)
                                    : derive_blocks<SameFp32<F16ToBinary32>>(source, count, out);
    if (rule == CastRule::kExact)
        return from == Dtype::kF16 ? derive_blocks<SameBf16<F16ToBinary32>>(source, count, out)
                                   : derive_blocks<SameBf16<F32ToBinary32>>(source, count, out);
    return from == Dtype::kF16 ? derive_blocks<NearestBf16<F16ToBinary32>>(source, count, out)
                               : derive_blocks<NearestBf16<F32ToBinary32>>(source, count, out);
}

}  // namespace
}  // namespace ninforge::verify
