// Rows of FP8_E4M3FN_ROW_BF16S, over the vectors of one instruction set.
#pragma once

#include <cstring>

#include "../prefetch.h"
#include "encoder.h"
#include "vector_kernels.h"

namespace ninforge::encode {
namespace {

template <class Lanes, class Source>
class Fp8Rows {
public:
    static std::size_t encode(const u8* source, std::size_t rows, std::size_t k, u8* codes, u8* scales) {
        for (std::size_t row = 0; row < rows; ++row) {
            const Word* words = reinterpret_cast<const Word*>(source) + row * k;
            if (!encode_row(words, k, codes + row * k, reinterpret_cast<Word16*>(scales) + row)) return row;
        }
        return rows;
    }

private:
    using Word = typename Source::Word;
    using Floats = typename Lanes::Floats;
    using Integers = typename Lanes::Integers;
    static constexpr std::size_t kBlock = 32;

    static bool encode_row(const Word* words, std::size_t k, u8* codes, Word16* scale) {
        const std::size_t whole = k / kBlock * kBlock;
        Word padded[kBlock] = {};
        std::memcpy(padded, words + whole, (k - whole) * sizeof(Word));
        const i32 of_whole = Lanes::template largest<Source>(words, whole);
        const i32 of_rest = Lanes::template largest<Source>(padded, kBlock);
        const i32 largest = of_whole > of_rest ? of_whole : of_rest;
        if (largest >= Source::kBf16Overflow) return false;
        const float amax = Source::round_to_bf16(static_cast<u32>(largest));
        if (amax == 0.0f) {
            *scale = 0;
            std::memset(codes, 0, k);
            return true;
        }
        const RowScale chosen = row_scale(amax);
        if (!is_finite(chosen.inverse)) return false;
        *scale = static_cast<u16>(chosen.word);
        for (std::size_t i = 0; i < whole; i += kBlock) {
            prefetch(words + i, k * sizeof(Word), kBlock * sizeof(Word));   // of the next row
            encode_block(words + i, chosen.inverse, codes + i);
        }
        u8 rest[kBlock];
        encode_block(padded, chosen.inverse, rest);
        std::memcpy(codes + whole, rest, k - whole);
        return true;
    }

    // The codes of 32 words: `fp8_code` of encoder.h, of each.
    static void encode_block(const Word* words, float inverse, u8* codes) {
        Floats values[Lanes::kVectors];
        Integers normalized[Lanes::kVectors], magnitudes[Lanes::kVectors];
        Lanes::widen(Source{}, words, values);
        for (int i = 0; i < Lanes::kVectors; ++i) {
            normalized[i] = Lanes::bits(Lanes::multiply(round_to_bf16(values[i]), Lanes::all(inverse)));
            magnitudes[i] = magnitude_code(normalized[i]);
        }
        Lanes::store(Lanes::with_signs(Lanes::narrow(Source{}, magnitudes), Lanes::narrow(Source{}, normalized)), codes);
    }

    static Floats round_to_bf16(Floats values) {
        if constexpr (Source::kNonFinite == Bf16::kNonFinite) return values;
        const Integers word = Lanes::bits(values);
        const Integers odd = Lanes::both(Lanes::template shift_right<16>(word), Lanes::all(1));
        const Integers rounded = Lanes::add(word, Lanes::add(odd, Lanes::all(0x7FFF)));
        return Lanes::floats(Lanes::both(rounded, Lanes::all(static_cast<i32>(0xFFFF0000))));
    }

    // The code of the magnitude of a binary32 number. Added to the number 2^20 times the power of two below it, or below
    // 2^-6 to 2^14, it counts in units of the code's last place; the sum is rounded to nearest, ties to even.
    static Integers magnitude_code(Integers normalized) {
        constexpr i32 kLargest = 0x43E00000, kLeastPower = (127 - 6) << 23;   // 448, 2^-6
        const Integers magnitude = Lanes::least(Lanes::both(normalized, Lanes::all(0x7FFFFFFF)), Lanes::all(kLargest));
        const Integers power = Lanes::most(Lanes::both(magnitude, Lanes::all(0x7F800000)), Lanes::all(kLeastPower));
        const Integers unit = Lanes::add(power, Lanes::all(20 << 23));
        const Integers sum = Lanes::bits(Lanes::add(Lanes::floats(magnitude), Lanes::floats(unit)));
        const Integers above = Lanes::template shift_right<20>(Lanes::subtract(power, Lanes::all(kLeastPower)));
        return Lanes::add(Lanes::subtract(sum, unit), above);
    }
};

template <class Lanes>
std::size_t encode_fp8_rows(const std::uint8_t* source, Dtype dtype, std::size_t rows, std::size_t k,
                            std::uint8_t* codes, std::uint8_t* scales) {
    switch (dtype) {
        case Dtype::kBf16:
            return Fp8Rows<Lanes, Bf16>::encode(source, rows, k, codes, scales);
        case Dtype::kF16:
            return Fp8Rows<Lanes, F16>::encode(source, rows, k, codes, scales);
        default:
            return Fp8Rows<Lanes, F32>::encode(source, rows, k, codes, scales);
    }
}

}  // namespace
}  // namespace ninforge::encode
