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

    static Integers extend_words(const std::uint8_t* from) {
        return (Integers)_mm512_cvtepu16_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)));
    }
    static Integers extend_codes(const std::int8_t* from) {
        return (Integers)_mm512_cvtepi8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
    }
    static Integers extend_magnitudes(const std::uint8_t* from) {
        return (Integers)_mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
    }

    static Doubles first_half(Floats values) { return (Doubles)_mm512_cvtps_pd(_mm512_castps512_ps256((__m512)values)); }
    static Doubles second_half(Floats values) { return (Doubles)_mm512_cvtps_pd(_mm512_extractf32x8_ps((__m512)values, 1)); }

    static Doubles round_to_binary32(Doubles values) {
        return (Doubles)_mm512_cvtps_pd(_mm512_cvtpd_ps((__m512d)values));
    }

    static std::int32_t largest(Shorts values) { return Avx2::largest(values); }
    static std::int32_t largest(Integers values) {
        const auto first = (Avx2::Integers)_mm512_castsi512_si256((__m512i)values);
        const auto second = (Avx2::Integers)_mm512_extracti64x4_epi64((__m512i)values, 1);
        return Avx2::largest(first > second ? first : second);
    }
};

}  // namespace
}  // namespace ninforge::verify
