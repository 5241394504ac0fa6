// What the verifier's rows need of AVX2 beyond arithmetic on vectors, which compilers have. Only for source files
// compiled for it.
#pragma once

#include <immintrin.h>

#include <cstdint>
#include <cstring>

#include "source_words.h"

namespace ninforge::verify {
namespace {

struct Avx2 {
    using Floats = float __attribute__((vector_size(32)));
    using Integers = std::int32_t __attribute__((vector_size(32)));
    using Unsigned = std::uint32_t __attribute__((vector_size(32)));
    using Doubles = double __attribute__((vector_size(32)));
    using Longs = std::int64_t __attribute__((vector_size(32)));
    using Shorts = std::int16_t __attribute__((vector_size(32)));
    using Halves = std::uint16_t __attribute__((vector_size(16)));   // as many as Floats has lanes

    // Words and codes from memory, one an integer.
    static Integers extend_words(const std::uint8_t* from) { return (Integers)_mm256_cvtepu16_epi32(load_half(from)); }
    static Integers extend(const std::int16_t* from) { return (Integers)_mm256_cvtepi16_epi32(load_half(from)); }
    static Integers extend(const std::int8_t* from) { return (Integers)_mm256_cvtepi8_epi32(load_quarter(from)); }

    // The codes of a group, each in the upper bits of a 16-bit word.
    template <int kBits>
    static void unpack_codes(const std::uint8_t* base, const std::uint8_t* high, Shorts* words) {
        if constexpr (kBits == 8) return spread(_mm256_permute4x64_epi64(load_whole(base), 0xD8), words);
        // Interleaving works in halves of 128 bits: eight lanes of the first half are followed by eight of the second.
        const __m256i runs = _mm256_permutevar8x32_epi32(load_whole(base), _mm256_setr_epi32(0, 2, 4, 6, 1, 3, 5, 7));
        const __m256i nibble = _mm256_set1_epi8(-16);
        const __m256i even = _mm256_and_si256(_mm256_slli_epi16(runs, 4), nibble), odd = _mm256_and_si256(runs, nibble);
        spread(with_high_bits<kBits>(_mm256_unpacklo_epi8(even, odd), high, 0), words);
        spread(with_high_bits<kBits>(_mm256_unpackhi_epi8(even, odd), high, 1), words + 2);
    }

    // The whole numbers nearest to binary32 numbers, the even one of two as near.
    static Integers nearest(Floats values) { return (Integers)_mm256_cvtps_epi32((__m256)values); }

    // Those nearest to the products of a number and as many words as Shorts has lanes; they have 16 bits.
    static Shorts nearest(Bf16Words, const std::uint8_t* words, float factor) {
        const __m256i sixteen = load_whole(words), zero = _mm256_setzero_si256();
        const auto first = (Floats)_mm256_unpacklo_epi16(zero, sixteen), second = (Floats)_mm256_unpackhi_epi16(zero, sixteen);
        return (Shorts)pack(first * factor, second * factor);
    }
    static Shorts nearest(F16Words, const std::uint8_t* words, float factor) {
        const auto first = (Floats)_mm256_cvtph_ps(load_half(words)), second = (Floats)_mm256_cvtph_ps(load_half(words + 16));
        return (Shorts)_mm256_permute4x64_epi64(pack(first * factor, second * factor), 0xD8);
    }
    static Shorts nearest(F32Words, const std::uint8_t* words, float factor) {
        const auto first = (Floats)load_whole(words), second = (Floats)load_whole(words + 32);
        return (Shorts)_mm256_permute4x64_epi64(pack(first * factor, second * factor), 0xD8);
    }

    static Floats binary16(Halves words) { return (Floats)_mm256_cvtph_ps((__m128i)words); }

    // Binary32 numbers from memory, as many as Doubles has lanes.
    static Doubles doubles(const float* from) { return (Doubles)_mm256_cvtps_pd(_mm_loadu_ps(from)); }

    static Doubles first_half(Floats values) { return (Doubles)_mm256_cvtps_pd(_mm256_castps256_ps128((__m256)values)); }
    static Doubles second_half(Floats values) { return (Doubles)_mm256_cvtps_pd(_mm256_extractf128_ps((__m256)values, 1)); }

    // The nearest binary32 numbers.
    static Doubles round_to_binary32(Doubles values) {
        return (Doubles)_mm256_cvtps_pd(_mm256_cvtpd_ps((__m256d)values));
    }
    static Floats join(Doubles first, Doubles second) {
        return (Floats)_mm256_set_m128(_mm256_cvtpd_ps((__m256d)second), _mm256_cvtpd_ps((__m256d)first));
    }

    static bool any(Shorts words) { return !_mm256_testz_si256((__m256i)words, (__m256i)words); }
    static bool every(Integers truths) { return _mm256_movemask_ps((__m256)truths) == 255; }
    static bool every(Longs truths) { return _mm256_movemask_pd((__m256d)truths) == 15; }

    // The larger or smaller of two numbers, none of them NaN.
    static Floats larger(Floats a, Floats b) { return (Floats)_mm256_max_ps((__m256)a, (__m256)b); }
    static Floats smaller(Floats a, Floats b) { return (Floats)_mm256_min_ps((__m256)a, (__m256)b); }
    static Doubles larger(Doubles a, Doubles b) { return (Doubles)_mm256_max_pd((__m256d)a, (__m256d)b); }

    // The largest of non-negative integers.
    static std::int32_t largest(Shorts values) {
        const __m128i most = _mm_max_epi16(_mm256_castsi256_si128((__m256i)values),
                                           _mm256_extracti128_si256((__m256i)values, 1));
        const __m128i reversed = _mm_minpos_epu16(_mm_xor_si128(most, _mm_set1_epi16(-1)));
        return 0xFFFF ^ _mm_extract_epi16(reversed, 0);
    }

    static std::int32_t largest(Integers values) {
        const __m128i most = _mm_max_epi32(_mm256_castsi256_si128((__m256i)values),
                                           _mm256_extracti128_si256((__m256i)values, 1));
        const __m128i folded = _mm_max_epi32(most, _mm_srli_si128(most, 8));
        return _mm_cvtsi128_si32(_mm_max_epi32(folded, _mm_srli_epi64(folded, 32)));
    }

private:
    static __m256i load_whole(const void* from) { return _mm256_loadu_si256(static_cast<const __m256i*>(from)); }
    static __m128i load_half(const void* from) { return _mm_loadu_si128(static_cast<const __m128i*>(from)); }
    static __m128i load_quarter(const void* from) { return _mm_loadl_epi64(static_cast<const __m128i*>(from)); }
    static __m256i pack(Floats first, Floats second) {
        return _mm256_packs_epi32((__m256i)nearest(first), (__m256i)nearest(second));
    }

    // Bytes in runs of eight, each in the upper half of a 16-bit word.
    static void spread(__m256i bytes, Shorts* words) {
        words[0] = (Shorts)_mm256_unpacklo_epi8(_mm256_setzero_si256(), bytes);
        words[1] = (Shorts)_mm256_unpackhi_epi8(_mm256_setzero_si256(), bytes);
    }

    // Codes whose low nibbles are given, in runs of eight lanes as unpack_codes lays them.
    template <int kBits>
    static __m256i with_high_bits(__m256i nibbles, const std::uint8_t* high, int half) {
        if constexpr (kBits == 5) {
            const __m256i bytes = _mm256_broadcastq_epi64(load_quarter(high));
            const __m256i of_runs = _mm256_setr_epi64x(0, 0x0202020202020202, 0x0101010101010101, 0x0303030303030303);
            const __m256i spread = _mm256_shuffle_epi8(bytes, _mm256_add_epi8(of_runs, _mm256_set1_epi8(half ? 4 : 0)));
            return above(spread, 0x8040201008040201, nibbles);
        } else if constexpr (kBits == 6) {
            const __m256i bytes = _mm256_broadcastsi128_si256(load_half(high));
            const __m256i of_runs = _mm256_setr_epi64x(0x0101010100000000, 0x0505050504040404, 0x0303030302020202,
                                                       0x0707070706060606);
            const __m256i spread = _mm256_shuffle_epi8(bytes, _mm256_add_epi8(of_runs, _mm256_set1_epi8(half ? 8 : 0)));
            return above(spread, 0x8020080280200802, above(spread, 0x4010040140100401, nibbles));
        } else {
            return nibbles;
        }
    }

    // Each byte of `below` moved down by a bit, with one bit of each byte of `bits` above it: the mean, rounded up, of
    // an even byte and of 255 or 0.
    static __m256i above(__m256i bits, std::uint64_t which, __m256i below) {
        const __m256i selected = _mm256_set1_epi64x(static_cast<std::int64_t>(which));
        return _mm256_avg_epu8(_mm256_cmpeq_epi8(_mm256_and_si256(bits, selected), selected), below);
    }
};

}  // namespace
}  // namespace ninforge::verify
