// What the verifier's rows need of AVX-512 (F, BW, DQ, VL): binary32 and binary64 in 512 bits, the rest as with AVX2.
#pragma once

#include "lanes_avx2.h"

namespace ninforge::verify {
namespace {

struct Avx512 : Avx2 {
    using Floats = float __attribute__((vector_size(64)));
    using Integers = std::int32_t __attribute__((vector_size(64)));
    using Unsigned = std::uint32_t __attribute__((vector_size(64)));
    using Doubles = double __attribute__((vector_size(64)));
    using Longs = std::int64_t __attribute__((vector_size(64)));
    using Shorts = std::int16_t __attribute__((vector_size(64)));
    using Halves = std::uint16_t __attribute__((vector_size(32)));

    static Integers extend_words(const std::uint8_t* from) {
        return (Integers)_mm512_cvtepu16_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)));
    }
    static Integers extend(const std::int16_t* from) {
        return (Integers)_mm512_cvtepi16_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)));
    }
    static Integers extend(const std::int8_t* from) {
        return (Integers)_mm512_cvtepi8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
    }

    template <int kBits>
    static void unpack_codes(const std::uint8_t* base, const std::uint8_t* high, Shorts* words) {
        Avx2::Shorts halves[4];
        Avx2::unpack_codes<kBits>(base, high, halves);
        words[0] = join(halves[0], halves[1]);
        if constexpr (kBits < 8) words[1] = join(halves[2], halves[3]);
    }

    static Integers nearest(Floats values) { return (Integers)_mm512_cvtps_epi32((__m512)values); }

    static Shorts nearest(Bf16Words, const std::uint8_t* words, float factor) {
        const __m512i all = _mm512_loadu_si512(words), zero = _mm512_setzero_si512();
        const auto first = (Floats)_mm512_unpacklo_epi16(zero, all), second = (Floats)_mm512_unpackhi_epi16(zero, all);
        return (Shorts)pack(first * factor, second * factor);
    }
    template <class Words>
    static Shorts nearest(Words, const std::uint8_t* words, float factor) {
        const Floats first = widen(Words{}, words), second = widen(Words{}, words + sizeof(typename Words::Word) * 16);
        const __m512i order = _mm512_setr_epi64(0, 2, 4, 6, 1, 3, 5, 7);
        return (Shorts)_mm512_permutexvar_epi64(order, pack(first * factor, second * factor));
    }

    static Floats binary16(Halves words) { return (Floats)_mm512_cvtph_ps((__m256i)words); }

    static Doubles doubles(const float* from) { return (Doubles)_mm512_cvtps_pd(_mm256_loadu_ps(from)); }

    static Doubles first_half(Floats values) {
        return (Doubles)_mm512_cvtps_pd(_mm512_castps512_ps256((__m512)values));
    }
    static Doubles second_half(Floats values) {
        return (Doubles)_mm512_cvtps_pd(_mm512_extractf32x8_ps((__m512)values, 1));
    }

    static Doubles round_to_binary32(Doubles values) {
        return (Doubles)_mm512_cvtps_pd(_mm512_cvtpd_ps((__m512d)values));
    }
    static Floats join(Doubles first, Doubles second) {
        const __m512 low = _mm512_castps256_ps512(_mm512_cvtpd_ps((__m512d)first));
        return (Floats)_mm512_insertf32x8(low, _mm512_cvtpd_ps((__m512d)second), 1);
    }

    static bool any(Shorts words) { return _mm512_test_epi16_mask((__m512i)words, (__m512i)words) != 0; }
    static bool every(Integers truths) { return _mm512_movepi32_mask((__m512i)truths) == 0xFFFF; }
    static bool every(Longs truths) { return _mm512_movepi64_mask((__m512i)truths) == 0xFF; }

    static Floats larger(Floats a, Floats b) { return (Floats)_mm512_max_ps((__m512)a, (__m512)b); }
    static Floats smaller(Floats a, Floats b) { return (Floats)_mm512_min_ps((__m512)a, (__m512)b); }
    static Doubles larger(Doubles a, Doubles b) { return (Doubles)_mm512_max_pd((__m512d)a, (__m512d)b); }

    static std::int32_t largest(Shorts values) {
        const __m256i first = _mm512_castsi512_si256((__m512i)values), second = _mm512_extracti64x4_epi64((__m512i)values, 1);
        return Avx2::largest((Avx2::Shorts)_mm256_max_epi16(first, second));
    }
    static std::int32_t largest(Integers values) { return _mm512_reduce_max_epi32((__m512i)values); }

private:
    static Floats widen(F16Words, const std::uint8_t* words) { return binary16(load<Halves>(words, 0)); }
    static Floats widen(F32Words, const std::uint8_t* words) { return load<Floats>(words, 0); }
    static __m512i pack(Floats first, Floats second) {
        return _mm512_packs_epi32((__m512i)nearest(first), (__m512i)nearest(second));
    }
    static Shorts join(Avx2::Shorts first, Avx2::Shorts second) {
        return (Shorts)_mm512_inserti64x4(_mm512_castsi256_si512((__m256i)first), (__m256i)second, 1);
    }
};

}  // namespace
}  // namespace ninforge::verify
