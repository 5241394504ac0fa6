// What the verifier's rows need of AArch64's NEON beyond arithmetic on vectors, which compilers have.
#pragma once

#include <arm_neon.h>

#include <cstdint>
#include <cstring>

namespace ninforge::verify {
namespace {

struct Neon {
    using Floats = float __attribute__((vector_size(16)));
    using Integers = std::int32_t __attribute__((vector_size(16)));
    using Doubles = double __attribute__((vector_size(16)));
    using Longs = std::int64_t __attribute__((vector_size(16)));
    using Bytes = std::int8_t __attribute__((vector_size(16)));
    using Shorts = std::int16_t __attribute__((vector_size(16)));
    using Halves = std::uint16_t __attribute__((vector_size(8)));   // as many as Floats has lanes

    // Bytes and 16-bit words from memory, one an integer.
    static Shorts extend_bytes(const std::uint8_t* from) { return (Shorts)vmovl_u8(vld1_u8(from)); }
    static Shorts extend_eight(const std::uint8_t* from) { return extend_bytes(from); }
    static Integers extend_words(const std::uint8_t* from) {
        return (Integers)vmovl_u16(vreinterpret_u16_u8(vld1_u8(from)));
    }
    static Integers extend_codes(const std::int8_t* from) {
        std::uint32_t four;
        std::memcpy(&four, from, sizeof(four));
        return (Integers)vmovl_s16(vget_low_s16(vmovl_s8(vreinterpret_s8_u32(vdup_n_u32(four)))));
    }

    static Floats binary16(Halves words) { return (Floats)vcvt_f32_f16((float16x4_t)words); }

    static Doubles first_half(Floats values) { return (Doubles)vcvt_f64_f32(vget_low_f32((float32x4_t)values)); }
    static Doubles second_half(Floats values) { return (Doubles)vcvt_high_f64_f32((float32x4_t)values); }

    // The nearest binary32 numbers.
    static Doubles round_to_binary32(Doubles values) {
        return (Doubles)vcvt_f64_f32(vcvt_f32_f64((float64x2_t)values));
    }
    static Floats join(Doubles first, Doubles second) {
        return (Floats)vcvt_high_f32_f64(vcvt_f32_f64((float64x2_t)first), (float64x2_t)second);
    }

    static bool every(Longs truths) { return (truths[0] & truths[1]) != 0; }

    // The larger or smaller of two numbers, none of them NaN.
    static Floats larger(Floats a, Floats b) { return (Floats)vmaxq_f32((float32x4_t)a, (float32x4_t)b); }
    static Floats smaller(Floats a, Floats b) { return (Floats)vminq_f32((float32x4_t)a, (float32x4_t)b); }
    static Doubles larger(Doubles a, Doubles b) { return (Doubles)vmaxq_f64((float64x2_t)a, (float64x2_t)b); }

    // The largest of non-negative integers.
    static std::int32_t largest(Shorts values) { return vmaxvq_s16((int16x8_t)values); }
    static std::int32_t largest(Integers values) { return vmaxvq_s32((int32x4_t)values); }
};

}  // namespace
}  // namespace ninforge::verify
