// What the kernels' rows need of AVX-512 (F, BW, DQ, VL): arithmetic in 512 bits, the rest as with AVX2.
#pragma once

#include "lanes_avx2.h"

namespace ninforge::encode {
namespace {

struct Avx512 : Avx2 {
    using Floats = __m512;
    using Integers = __m512i;
    static constexpr int kLanes = 16, kVectors = 32 / kLanes;

    static Floats all(float value) { return _mm512_set1_ps(value); }
    static Integers all(i32 value) { return _mm512_set1_epi32(value); }
    static Floats floats(Integers bits) { return _mm512_castsi512_ps(bits); }
    static Integers bits(Floats values) { return _mm512_castps_si512(values); }
    static Floats multiply(Floats a, Floats b) { return _mm512_mul_ps(a, b); }
    static Floats add(Floats a, Floats b) { return _mm512_add_ps(a, b); }
    static Integers add(Integers a, Integers b) { return _mm512_add_epi32(a, b); }
    static Integers subtract(Integers a, Integers b) { return _mm512_sub_epi32(a, b); }
    static Integers both(Integers a, Integers b) { return _mm512_and_si512(a, b); }
    static Integers least(Integers a, Integers b) { return _mm512_min_epi32(a, b); }
    static Integers most(Integers a, Integers b) { return _mm512_max_epi32(a, b); }
    template <int kBits>
    static Integers shift_right(Integers a) {
        return _mm512_srli_epi32(a, kBits);
    }
    static Integers round(Floats values) { return _mm512_cvtps_epi32(values); }

    static void widen(Bf16, const Word16* words, Floats* values) {
        for (int i = 0; i < 2; ++i) {
            const __m512i wide = _mm512_cvtepu16_epi32(load(words + 16 * i));
            values[i] = floats(_mm512_slli_epi32(wide, 16));
        }
    }

    static void widen(F16, const Word16* words, Floats* values) {
        for (int i = 0; i < 2; ++i) values[i] = _mm512_cvtph_ps(load(words + 16 * i));
    }

    static void widen(F32, const Word32* words, Floats* values) {
        for (int i = 0; i < 2; ++i) values[i] = _mm512_loadu_ps(words + 16 * i);
    }

    template <class Source>
    static Bytes narrow(Source, const Integers* values) {
        return _mm256_set_m128i(_mm512_cvtsepi32_epi8(values[1]), _mm512_cvtsepi32_epi8(values[0]));
    }
};

}  // namespace
}  // namespace ninforge::encode
