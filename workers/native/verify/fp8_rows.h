// Whether rows of FP8_E4M3FN_ROW_BF16S are what the source gives, over the vectors of one instruction set.
//
// No code is derived here: a code is right if no other is nearer to the quotient that it stands for.
#pragma once

#include <cstring>

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
        RowSums<Lanes> row_sums;
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
    using Word = typename Words::Word;
    static constexpr std::size_t kBlock = 64;

    // What a row is multiplied with, to get its quotients and to get its values back, and the bits that signs leave in
    // quotients: none in a row of zeros.
    struct Factors {
        float inverse;
        float scale;
        std::int32_t kept;
    };

    static bool confirm_row(const std::uint8_t* words, std::size_t k, const std::uint8_t* codes, std::uint32_t scale,
                            RowSums<Lanes>& sums) {
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
        for (std::size_t i = 0; i < whole; i += kBlock)
            if (!check_block(words + i * sizeof(Word), codes + i, factors, i, sums)) return false;
        return check_block(rest, rest_codes, factors, whole, sums);
    }

    static constexpr std::int32_t kMagnitude = 0x7FFFFFFF, kExponent = 0x7F800000;
    static constexpr std::int32_t kMost = 0x43E00000, kLeastPower = (127 - 6) << 23;   // 448, 2^-6

    // One vector of codes beside the quotients that they stand for.
    struct Compared {
        Floats source;
        Integers code;
        Integers quotient;   // of the size of 448 at most
        Integers sign;       // bit 31: whether the code has another sign
    };

    static Compared compare(const std::uint8_t* words, const std::uint8_t* codes, Factors factors) {
        const Floats source = Source::values(words);
        const Integers normalized = (Integers)(nearest_bf16(source) * factors.inverse) & factors.kept;
        const Integers code = Lanes::extend_codes(reinterpret_cast<const std::int8_t*>(codes));
        const Integers magnitude = normalized & kMagnitude;
        return {source, code, magnitude < kMost ? magnitude : Integers{} + kMost, code << 24 ^ normalized};
    }

    static bool check_block(const std::uint8_t* words, const std::uint8_t* codes, Factors factors, std::size_t column,
                            RowSums<Lanes>& sums) {
        // From 2^-6 on a code is the upper part of its value's word, but for a constant: the codes that are nearest are
        // half a unit of that part away at most, and less if they are odd. Any other block is looked at again.
        constexpr std::int32_t kHalf = 1 << 19;
        Integers farthest{}, least = Integers{} + kMost, signs{};
        for (std::size_t i = 0; i < kBlock; i += Source::kLanes) {
            const Compared of = compare(words + i * sizeof(Word), codes + i, factors);
            const Integers value = ((of.code & 0x7F) << 20) + ((127 - 7) << 23), above = of.quotient - value;
            const Integers distance = (above > -above ? above : -above) + (of.code & 1);
            farthest = distance > farthest ? distance : farthest;
            least = of.quotient < least ? of.quotient : least;
            signs |= of.sign;
            if constexpr (kStatistics) {
                const Integers weight = (Integers)(decode(of.code & 0x7F) * factors.scale) | (of.code & 0x80) << 24;
                sums.template add<Word>(column + i, (Floats)weight, of.source);
            }
        }
        if (Lanes::largest(((farthest > kHalf) | (least < kLeastPower) | (signs < 0)) & 1) == 0) return true;
        return Lanes::largest(signs >> 31 & 1) == 0 && check_small(words, codes, factors);
    }

    // Codes lie a unit apart about a quotient: 2^-3 of the power of two below it, 2^-9 below 2^-6. Half of one is the
    // farthest, and too far for an odd code. A difference is rounded only where it is more.
    static bool check_small(const std::uint8_t* words, const std::uint8_t* codes, Factors factors) {
        Integers wrong{};
        for (std::size_t i = 0; i < kBlock; i += Source::kLanes) {
            const Compared of = compare(words + i * sizeof(Word), codes + i, factors);
            const Integers power = of.quotient & kExponent;
            const Integers half = (power > kLeastPower ? power : Integers{} + kLeastPower) - (4 << 23);
            const Floats difference = (Floats)of.quotient - decode(of.code & 0x7F);
            wrong |= ((Integers)difference & kMagnitude) + (of.code & 1) > half;
        }
        return Lanes::largest(wrong & 1) == 0;
    }

    // The value of an E4M3FN magnitude; of a subnormal one, placed below the implicit one of 2^-6, that is taken away.
    static Floats decode(Integers magnitude) {
        const Integers shifted = magnitude << 20;
        const Floats normal = (Floats)(shifted + ((127 - 7) << 23));
        const Floats subnormal = (Floats)(shifted + ((127 - 6) << 23)) - 0x1p-6f;
        return magnitude < 8 ? subnormal : normal;
    }

    static Floats nearest_bf16(Floats values) {
        if constexpr (std::is_same_v<Words, Bf16Words>) return values;
        const auto word = (Integers)values;
        const Integers upper = word & ~0xFFFF, lower = word & 0xFFFF, odd = word >> 16 & 1;
        return (Floats)(upper + ((lower + odd > 0x8000) & 0x10000));
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
