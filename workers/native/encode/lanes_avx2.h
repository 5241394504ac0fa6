// What the kernels' rows need of AVX2 and F16C. Only for source files compiled for them.
#pragma once

#include <immintrin.h>

#include "encoder.h"

namespace ninforge::encode {
namespace {

struct Avx2 {
    using Floats = __m256;
    using Integers = __m256i;
    using Bytes = __m256i;   // 32 codes
    static constexpr int kLanes = 8, kVectors = 32 / kLanes;

    static Floats all(float value) { return _mm256_set1_ps(value); }
    static Integers all(i32 value) { return _mm256_set1_epi32(value); }
    static Floats floats(Integers bits) { return _mm256_castsi256_ps(bits); }
    static Integers bits(Floats values) { return _mm256_castps_si256(values); }
    static Floats multiply(Floats a, Floats b) { return _mm256_mul_ps(a, b); }
    static Floats add(Floats a, Floats b) { return _mm256_add_ps(a, b); }
    static Integers add(Integers a, Integers b) { return _mm256_add_epi32(a, b); }
    static Integers subtract(Integers a, Integers b) { return _mm256_sub_epi32(a, b); }
    static Integers both(Integers a, Integers b) { return _mm256_and_si256(a, b); }
    static Integers least(Integers a, Integers b) { return _mm256_min_epi32(a, b); }
    static Integers most(Integers a, Integers b) { return _mm256_max_epi32(a, b); }
    template <int kBits>
    static Integers shift_right(Integers a) {
        return _mm256_srli_epi32(a, kBits);
    }

    // To the nearest integer, ties to even.
    static Integers round(Floats values) { return _mm256_cvtps_epi32(values); }

    // 32 source words as binary32, in an order that narrow of the same source brings back.
    static void widen(Bf16, const Word16* words, Floats* values) {
        for (int i = 0; i < 2; ++i) {
            const __m256i sixteen = load(words + 16 * i), zero = _mm256_setzero_si256();
            values[2 * i] = floats(_mm256_unpacklo_epi16(zero, sixteen));
            values[2 * i + 1] = floats(_mm256_unpackhi_epi16(zero, sixteen));
        }
    }

    static void widen(F16, const Word16* words, Floats* values) {
        for (int i = 0; i < 4; ++i)
            values[i] = _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(words + 8 * i)));
    }

    static void widen(F32, const Word32* words, Floats* values) {
        for (int i = 0; i < 4; ++i) values[i] = floats(load(words + 8 * i));
    }

    // 32 integers, saturated to signed bytes in the order of the words.
    template <class Source>
    static Bytes narrow(Source source, const Integers* values) {
        const __m256i packed = _mm256_packs_epi16(_mm256_packs_epi32(values[0], values[1]),
                                                  _mm256_packs_epi32(values[2], values[3]));
        return _mm256_permutevar8x32_epi32(packed, order(source));
    }

    // The largest magnitude of `count` words, a multiple of 32.
    template <class Source>
    static i32 largest(const typename Source::Word* words, u64 count) {
        constexpr u64 kStep = 32 / sizeof(words[0]);
        __m256i most[2] = {_mm256_setzero_si256(), _mm256_setzero_si256()};
        for (u64 i = 0; i < count; i += 2 * kStep) {
            most[0] = larger_magnitude<Source>(most[0], load(words + i));
            most[1] = larger_magnitude<Source>(most[1], load(words + i + kStep));
        }
        if constexpr (kStep == 16) return largest_16(_mm256_max_epi16(most[0], most[1]));
        return largest_32(_mm256_max_epi32(most[0], most[1]));
    }

    // Scales of eight groups, of their largest magnitudes: `group_scale` of encoder.h, of each.
    template <int kBits>
    static void group_scales(const float* amax, u16* words, float* inverses) {
        const __m256 largest = _mm256_loadu_ps(amax), zero = _mm256_setzero_ps();
        const __m256 raw = _mm256_div_ps(largest, all(static_cast<float>(Grouped<kBits>::kMax)));
        const __m256 nonzero = _mm256_cmp_ps(largest, zero, _CMP_NEQ_UQ);
        const __m128i rescued = _mm_max_epu16(_mm256_cvtps_ph(raw, _MM_FROUND_TO_NEAREST_INT), _mm_set1_epi16(1));
        const __m256 inverse = _mm256_div_ps(all(1.0f), _mm256_cvtph_ps(rescued));
        const __m256i mask = bits(nonzero);
        const __m128i narrow_mask = _mm_packs_epi32(_mm256_castsi256_si128(mask), _mm256_extracti128_si256(mask, 1));
        _mm256_storeu_ps(inverses, _mm256_and_ps(inverse, nonzero));
        _mm_storeu_si128(reinterpret_cast<__m128i*>(words), _mm_and_si128(rescued, narrow_mask));
    }

    static Bytes clamp(Bytes codes, i32 low, i32 high) {
        const __m256i raised = _mm256_max_epi8(codes, _mm256_set1_epi8(static_cast<char>(low)));
        return _mm256_min_epi8(raised, _mm256_set1_epi8(static_cast<char>(high)));
    }

    // Codes of magnitudes, each with the sign of a byte beside it.
    static Bytes with_signs(Bytes magnitudes, Bytes signs) {
        return _mm256_or_si256(magnitudes, _mm256_and_si256(signs, _mm256_set1_epi8(-128)));
    }

    static void store(Bytes codes, u8* to) { _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), codes); }

    // Base plane: the low nibbles of 64 codes, even lanes in the low halves.
    static void store_nibbles(Bytes first, Bytes second, u8* to) {
        const __m256i mask = _mm256_set1_epi8(15), weights = _mm256_set1_epi16(0x1001);
        const __m256i a = _mm256_maddubs_epi16(_mm256_and_si256(first, mask), weights);
        const __m256i b = _mm256_maddubs_epi16(_mm256_and_si256(second, mask), weights);
        store(_mm256_permute4x64_epi64(_mm256_packus_epi16(a, b), 0xD8), to);
    }

    // High plane at 5 bits: bit 4 of each of 64 codes.
    static void store_bits(Bytes first, Bytes second, u8* to) {
        reinterpret_cast<Word32*>(to)[0] = static_cast<u32>(_mm256_movemask_epi8(_mm256_slli_epi16(first, 3)));
        reinterpret_cast<Word32*>(to)[1] = static_cast<u32>(_mm256_movemask_epi8(_mm256_slli_epi16(second, 3)));
    }

    // High plane at 6 bits: bits 4 and 5 of each of 64 codes.
    static void store_pairs(Bytes first, Bytes second, u8* to) {
        const __m256i mask = _mm256_set1_epi8(3), twos = _mm256_set1_epi16(0x0401), fours = _mm256_set1_epi32(0x100001);
        const auto quads = [&](Bytes codes) {
            const __m256i high = _mm256_and_si256(_mm256_srli_epi16(codes, 4), mask);
            return _mm256_madd_epi16(_mm256_maddubs_epi16(high, twos), fours);
        };
        const __m256i words = _mm256_packus_epi32(quads(first), quads(second));
        const __m256i bytes = _mm256_packus_epi16(words, words);
        const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 0, 0, 0, 0);
        _mm_storeu_si128(reinterpret_cast<__m128i*>(to),
                         _mm256_castsi256_si128(_mm256_permutevar8x32_epi32(bytes, order)));
    }

protected:
    static __m256i load(const void* from) { return _mm256_loadu_si256(static_cast<const __m256i*>(from)); }

private:
    template <class Source>
    static __m256i larger_magnitude(__m256i most, __m256i words) {
        if constexpr (sizeof(typename Source::Word) == 2)
            return _mm256_max_epi16(most, _mm256_and_si256(words, _mm256_set1_epi16(0x7FFF)));
        else
            return _mm256_max_epi32(most, _mm256_and_si256(words, _mm256_set1_epi32(0x7FFFFFFF)));
    }

    static i32 largest_16(__m256i magnitudes) {
        // The one horizontal instruction looks for the least of eight unsigned words.
        const __m128i most = _mm_max_epi16(_mm256_castsi256_si128(magnitudes), _mm256_extracti128_si256(magnitudes, 1));
        return 0x7FFF ^ _mm_extract_epi16(_mm_minpos_epu16(_mm_xor_si128(most, _mm_set1_epi16(0x7FFF))), 0);
    }

    static i32 largest_32(__m256i magnitudes) {
        __m128i most = _mm_max_epi32(_mm256_castsi256_si128(magnitudes), _mm256_extracti128_si256(magnitudes, 1));
        most = _mm_max_epi32(most, _mm_shuffle_epi32(most, 0x4E));
        return _mm_cvtsi128_si32(_mm_max_epi32(most, _mm_shuffle_epi32(most, 0xB1)));
    }

    // Where packing leaves runs of four lanes: it works in halves of 128 bits, and so does unpacking of BF16.
    static __m256i order(Bf16) { return _mm256_setr_epi32(0, 1, 4, 5, 2, 3, 6, 7); }
    template <class Source>
    static __m256i order(Source) {
        return _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
    }
};

}  // namespace
}  // namespace ninforge::encode
