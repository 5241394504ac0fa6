// Whether rows of FP8_E4M3FN_ROW_BF16S are what the source gives, over the vectors of one instruction set.
//
// No code is derived here: a code is right if no other is nearer to the quotient that it stands for.
#pragma once

#include <cstring>

#include "../prefetch.h"
#include "fp8_scale.h"
#include "row_sums.h"
#include "source_lanes.h"
#include "vector_kernels.h"

namespace ninforge::verify {
namespace {

template <class Lanes, class Words, bool kStatistics>
class Fp8Rows {
public:
    static std::size_t confirm(const std::uint8_t* source, std::size_t rows, std::size_t k, const std::uint8_t* codes,
                               const std::uint8_t* scales, ErrorSums* sums) {
        Sums row_sums;
        for (std::size_t row = 0; row < rows; ++row) {
            const auto scale = load<std::uint16_t>(scales, row);
            if (!confirm_row(source + row * k * sizeof(Word), k, codes + row * k, scale, row_sums)) return row;
            if constexpr (kStatistics) row_sums.close(row, *sums);
        }
        return rows;
    }

private:
    using Source = SourceLanes<Lanes, Words>;
    using Floats = typename Lanes::Floats;
    using Integers = typename Lanes::Integers;
    using Unsigned = typename Lanes::Unsigned;
    using Word = typename Words::Word;
    using Sums = RowSums<Lanes, Word>;
    static constexpr std::size_t kBlock = 64;

    // What a row is multiplied with, to get its quotients and to get its values back, and the bits that signs leave in
    // quotients: none in a row of zeros.
    struct Factors {
        float inverse;
        float scale;
        std::int32_t kept;
    };

    static bool confirm_row(const std::uint8_t* words, std::size_t k, const std::uint8_t* codes, std::uint32_t scale,
                            Sums& sums) {
        // Elements past the row count as zeros of the source, with zeros for codes.
        const std::size_t whole = k / kBlock * kBlock;
        std::uint8_t rest[kBlock * sizeof(Word)] = {}, rest_codes[kBlock] = {};
        std::memcpy(rest, words + whole * sizeof(Word), (k - whole) * sizeof(Word));
        std::memcpy(rest_codes, codes + whole, k - whole);
        const auto of_whole = Source::largest_magnitude(words, whole), of_rest = Source::largest_magnitude(rest, kBlock);
        const auto largest = static_cast<std::uint32_t>(of_whole > of_rest ? of_whole : of_rest);
        if (!rounds_to_finite<Words>(largest)) return false;
        const std::uint32_t amax = bf16_of<Words>(static_cast<Word>(largest));
        const DerivedRowScale derived = derive_row_scale(Bf16Words::exact(amax));
        if (derived.too_small || derived.word != scale) return false;
        const Factors factors{static_cast<float>(derived.inverse), static_cast<float>(derived.scale),
                              derived.word == 0 ? 0 : -1};
        for (std::size_t i = 0; i < whole; i += kBlock) {
            prefetch(words + i * sizeof(Word), k * sizeof(Word), kBlock * sizeof(Word));   // of the next row
            if (!check_block(words + i * sizeof(Word), codes + i, factors, sums)) return false;
        }
        return whole == k || check_block(rest, rest_codes, factors, sums);
    }

    static constexpr std::int32_t kMagnitude = 0x7FFFFFFF, kExponent = 0x7F800000;
    static constexpr std::int32_t kBias = (127 - 7) << 23, kMost = 0x43E00000, kLeastPower = (127 - 6) << 23;   // 448, 2^-6

    static Integers quotients(Floats values, Factors factors) {
        return (Integers)(nearest_bf16(values) * factors.inverse);
    }

    static Integers codes_at(const std::uint8_t* codes) {
        return Lanes::extend(reinterpret_cast<const std::int8_t*>(codes));
    }

    static bool check_block(const std::uint8_t* words, const std::uint8_t* codes, Factors factors, Sums& sums) {
        // From 2^-6 on a code's sign and the rest of it lie in the word of its value as they lie in the code, but for a
        // constant, and a quotient whose word is less than half of the code's last place away is nearest to it. Other
        // signs are half of all words away. Blocks with other codes or quotients are looked at again.
        constexpr std::int32_t kHalf = 1 << 19;
        Integers highest = Integers{} + kBias, lowest = highest, smallest = highest;
        typename Sums::Elements elements;
        for (std::size_t i = 0; i < kBlock; i += Source::kLanes) {
            const Floats values = Source::values(words + i * sizeof(Word));
            const Integers code = (codes_at(codes + i) << 20) & kPlaces;
            const auto above = (Integers)((Unsigned)quotients(values, factors) - (Unsigned)code);   // may go round
            highest = above > highest ? above : highest;
            lowest = above < lowest ? above : lowest;
            const Integers magnitude = code & kMagnitude;
            smallest = magnitude < smallest ? magnitude : smallest;
            if constexpr (kStatistics) elements.put(i, (Floats)(code + kBias) * factors.scale, values);
        }
        const Integers near = (highest < kBias + kHalf) & (lowest > kBias - kHalf) & (smallest >= kLeastNormal);
        const bool all_near = Lanes::every(near);
        if (!all_near) {
            if (!check_exactly(words, codes, factors)) return false;
            if constexpr (kStatistics) decode(words, codes, factors, elements);
        }
        if constexpr (kStatistics) sums.add(elements, kBlock);
        return true;
    }

    // Where a code's sign and the rest of it lie in binary32, and the least code of a normal number.
    static constexpr std::int32_t kPlaces = static_cast<std::int32_t>(0x87F00000), kLeastNormal = 8 << 20;

    // Codes lie a unit apart about a quotient: 2^-3 of the power of two below it, 2^-9 below 2^-6. Half of one is the
    // farthest, and too far for an odd code. A difference is rounded only where it is more.
    [[gnu::noinline]] static bool check_exactly(const std::uint8_t* words, const std::uint8_t* codes, Factors factors) {
        Integers wrong{};
        for (std::size_t i = 0; i < kBlock; i += Source::kLanes) {
            const Integers quotient = quotients(Source::values(words + i * sizeof(Word)), factors) & factors.kept;
            const Integers code = codes_at(codes + i), magnitude = quotient & kMagnitude;
            const Integers bounded = magnitude < kMost ? magnitude : Integers{} + kMost, power = bounded & kExponent;
            const Integers half = (power > kLeastPower ? power : Integers{} + kLeastPower) - (4 << 23);
            const Floats difference = (Floats)bounded - magnitude_of(code);
            wrong |= (((Integers)difference & kMagnitude) + (code & 1) > half) | ((code << 24 ^ quotient) < 0);
        }
        return Lanes::every(~wrong);
    }

    [[gnu::noinline]] static void decode(const std::uint8_t* words, const std::uint8_t* codes, Factors factors,
                       typename Sums::Elements& elements) {
        for (std::size_t i = 0; i < kBlock; i += Source::kLanes) {
            const Integers code = codes_at(codes + i);
            const Integers weight = (Integers)(magnitude_of(code) * factors.scale) | (code & 0x80) << 24;
            elements.put(i, (Floats)weight, Source::values(words + i * sizeof(Word)));
        }
    }

    // The value of an E4M3FN magnitude; of a subnormal one, placed below the implicit one of 2^-6, that is taken away.
    static Floats magnitude_of(Integers code) {
        const Integers magnitude = code & 0x7F, shifted = magnitude << 20;
        const Floats normal = (Floats)(shifted + kBias);
        const Floats subnormal = (Floats)(shifted + kLeastPower) - 0x1p-6f;
        return magnitude < 8 ? subnormal : normal;
    }

    static Floats nearest_bf16(Floats values) {
        if constexpr (std::is_same_v<Words, Bf16Words>) return values;
        const auto word = (Integers)values;
        const Integers odd = word >> 16 & 1;   // a tie goes up from an odd upper half
        return (Floats)((word + odd + 0x7FFF) & ~0xFFFF);
    }
};

template <class Lanes, class Words>
std::size_t confirm_fp8_words(const std::uint8_t* source, std::size_t rows, std::size_t k, const std::uint8_t* codes,
                              const std::uint8_t* scales, ErrorSums* sums) {
    return sums ? Fp8Rows<Lanes, Words, true>::confirm(source, rows, k, codes, scales, sums)
                : Fp8Rows<Lanes, Words, false>::confirm(source, rows, k, codes, scales, sums);
}

template <class Lanes>
std::size_t confirm_fp8_rows(const std::uint8_t* source, Dtype dtype, std::size_t rows, std::size_t k,
                             const std::uint8_t* codes, const std::uint8_t* scales, ErrorSums* sums) {
    switch (dtype) {
        case Dtype::kBf16:
            return confirm_fp8_words<Lanes, Bf16Words>(source, rows, k, codes, scales, sums);
        case Dtype::kF16:
            return confirm_fp8_words<Lanes, F16Words>(source, rows, k, codes, scales, sums);
        default:
            return confirm_fp8_words<Lanes, F32Words>(source, rows, k, codes, scales, sums);
    }
}

}  // namespace
}  // namespace ninforge::verify
