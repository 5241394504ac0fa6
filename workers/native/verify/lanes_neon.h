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

    // Bytes and 16-bit words from memory, one an integer.
    static Shorts extend_bytes(const std::uint8_t* from) { return (Shorts)vmovl_u8(vld1_u8(from)); }
    static Integers extend_words(const std::uint8_t* from) {
        return (Integers)vmovl_u16(vreinterpret_u16_u8(vld1_u8(from)));
    }
    static Integers extend_codes(const std::int8_t* from) {
        return (Integers)vmovl_s16(vget_low_s16(vmovl_s8(vreinterpret_s8_u32(four(from)))));
    }
    static Integers extend_magnitudes(const std::uint8_t* from) {
        return (Integers)vmovl_u16(vget_low_u16(vmovl_u8(vreinterpret_u8_u32(four(from)))));
    }

    static Doubles first_half(Floats values) { return (Doubles)vcvt_f64_f32(vget_low_f32((float32x4_t)values)); }
    static Doubles second_half(Floats values) { return (Doubles)vcvt_high_f64_f32((float32x4_t)values); }

    // The nearest binary32 numbers.
    static Doubles round_to_binary32(Doubles values) { return (Doubles)vcvt_f64_f32(vcvt_f32_f64((float64x2_t)values)); }

    static std::int32_t largest(Shorts values) { return vmaxvq_s16((int16x8_t)values); }
    static std::int32_t largest(Integers values) { return vmaxvq_s32((int32x4_t)values); }

private:
    static uint32x2_t four(const void* from) {
        std::uint32_t bytes;
        std::memcpy(&bytes, from, sizeof(bytes));
        return vdup_n_u32(bytes);
    }
};

}  // namespace
}  // namespace ninforge::verify
