// What the verifier's rows need of AVX-512 (F, BW, DQ, VL): binary32 and binary64 in 512 bits, the rest as with AVX2.
#pragma once

#include "lanes_avx2.h"

namespace ninforge::verify {
namespace {

struct Avx512 : Avx2 {
    using Floats = float __attribute__((vector_size(64)));
    using Integers = std::int32_t __attribute__((vector_size(64)));
    using Doubles = double __attribute__((vector_size(64)));
    using Longs = std::int64_t __attribute__((vector_size(64)));
    using Halves = std::uint16_t __attribute__((vector_size(32)));

    static Integers extend_words(const std::uint8_t* from) {
        return (Integers)_mm512_cvtepu16_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)));
    }
    static Integers extend_codes(const std::int8_t* from) {
        return (Integers)_mm512_cvtepi8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
    }

    static Floats binary16(Halves words) { return (Floats)_mm512_cvtph_ps((__m256i)words); }

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

    static bool every(Longs truths) { return _mm512_movepi64_mask((__m512i)truths) == 0xFF; }

    static Floats larger(Floats a, Floats b) { return (Floats)_mm512_max_ps((__m512)a, (__m512)b); }
    static Floats smaller(Floats a, Floats b) { return (Floats)_mm512_min_ps((__m512)a, (__m512)b); }
    static Doubles larger(Doubles a, Doubles b) { return (Doubles)_mm512_max_pd((__m512d)a, (__m512d)b); }

    static std::int32_t largest(Shorts values) { return Avx2::largest(values); }
    static std::int32_t largest(Integers values) { return _mm512_reduce_max_epi32((__m512i)values); }
};

}  // namespace
}  // namespace ninforge::verify
