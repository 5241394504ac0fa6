// What the verifier's rows need of AVX2 beyond arithmetic on vectors, which compilers have. Only for source files
// compiled for it.
#pragma once

#include <immintrin.h>

#include <cstdint>
#include <cstring>

namespace ninforge::verify {
namespace {

struct Avx2 {
    using Floats = float __attribute__((vector_size(32)));
    using Integers = std::int32_t __attribute__((vector_size(32)));
    using Doubles = double __attribute__((vector_size(32)));
    using Longs = std::int64_t __attribute__((vector_size(32)));
    using Bytes = std::int8_t __attribute__((vector_size(32)));
    using Shorts = std::int16_t __attribute__((vector_size(32)));
    using Halves = std::uint16_t __attribute__((vector_size(16)));   // as many as Floats has lanes

    // Bytes and 16-bit words from memory, one an integer; of eight bytes, integers past them are zero.
    static Shorts extend_bytes(const std::uint8_t* from) { return (Shorts)_mm256_cvtepu8_epi16(load_half(from)); }
    static Shorts extend_eight(const std::uint8_t* from) { return (Shorts)_mm256_cvtepu8_epi16(load_quarter(from)); }
    static Integers extend_words(const std::uint8_t* from) { return (Integers)_mm256_cvtepu16_epi32(load_half(from)); }
    static Integers extend_codes(const std::int8_t* from) { return (Integers)_mm256_cvtepi8_epi32(load_quarter(from)); }

    static Floats binary16(Halves words) { return (Floats)_mm256_cvtph_ps((__m128i)words); }

    static Doubles first_half(Floats values) { return (Doubles)_mm256_cvtps_pd(_mm256_castps256_ps128((__m256)values)); }
    static Doubles second_half(Floats values) { return (Doubles)_mm256_cvtps_pd(_mm256_extractf128_ps((__m256)values, 1)); }

    // The nearest binary32 numbers.
    static Doubles round_to_binary32(Doubles values) {
        return (Doubles)_mm256_cvtps_pd(_mm256_cvtpd_ps((__m256d)values));
    }
    static Floats join(Doubles first, Doubles second) {
        return (Floats)_mm256_set_m128(_mm256_cvtpd_ps((__m256d)second), _mm256_cvtpd_ps((__m256d)first));
    }

    static bool every(Longs truths) { return _mm256_movemask_pd((__m256d)truths) == 15; }

    // The larger or smaller of two numbers, none of them NaN.
    static Floats larger(Floats a, Floats b) { return (Floats)_mm256_max_ps((__m256)a, (__m256)b); }
    static Floats smaller(Floats a, Floats b) { return (Floats)_mm256_min_ps((__m256)a, (__m256)b); }
    static Doubles larger(Doubles a, Doubles b) { return (Doubles)_mm256_max_pd((__m256d)a, (__m256d)b); }

    // The largest of non-negative integers.
    static std::int32_t largest(Shorts values) {
        const __m128i most = _mm_max_epi16(_mm256_castsi256_si128((__m256i)values),
                                           _mm256_extracti128_si256((__m256i)values, 1));
        const __m128i reversed = _mm_minpos_epu16(_mm_sub_epi16(_mm_set1_epi16(-1), most));
        return 0xFFFF - (_mm_cvtsi128_si32(reversed) & 0xFFFF);
    }

    static std::int32_t largest(Integers values) {
        const __m128i most = _mm_max_epi32(_mm256_castsi256_si128((__m256i)values),
                                           _mm256_extracti128_si256((__m256i)values, 1));
        const __m128i folded = _mm_max_epi32(most, _mm_srli_si128(most, 8));
        return _mm_cvtsi128_si32(_mm_max_epi32(folded, _mm_srli_epi64(folded, 32)));
    }

private:
    static __m128i load_half(const std::uint8_t* from) {
        return _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
    }
    static __m128i load_quarter(const void* from) { return _mm_loadl_epi64(static_cast<const __m128i*>(from)); }
};

}  // namespace
}  // namespace ninforge::verify
