// What the verifier's rows need of AArch64's NEON beyond arithmetic on vectors, which compilers have.
#pragma once

#include <arm_neon.h>

#include <cstdint>
#include <cstring>

#include "source_words.h"

namespace ninforge::verify {
namespace {

struct Neon {
    using Floats = float __attribute__((vector_size(16)));
    using Integers = std::int32_t __attribute__((vector_size(16)));
    using Unsigned = std::uint32_t __attribute__((vector_size(16)));
    using Doubles = double __attribute__((vector_size(16)));
    using Longs = std::int64_t __attribute__((vector_size(16)));
    using Shorts = std::int16_t __attribute__((vector_size(16)));
    using Halves = std::uint16_t __attribute__((vector_size(8)));   // as many as Floats has lanes

    // Words and codes from memory, one an integer.
    static Integers extend_words(const std::uint8_t* from) {
        return (Integers)vmovl_u16(vreinterpret_u16_u8(vld1_u8(from)));
    }
    static Integers extend(const std::int16_t* from) { return (Integers)vmovl_s16(vld1_s16(from)); }
    static Integers extend(const std::int8_t* from) {
        std::uint32_t four;
        std::memcpy(&four, from, sizeof(four));
        return (Integers)vmovl_s16(vget_low_s16(vmovl_s8(vreinterpret_s8_u32(vdup_n_u32(four)))));
    }

    // The codes of a group, each in the upper bits of a 16-bit word.
    template <int kBits>
    static void unpack_codes(const std::uint8_t* base, const std::uint8_t* high, Shorts* words) {
        if constexpr (kBits == 8) {
            for (int i = 0; i < 2; ++i) spread(vld1q_u8(base + 16 * i), words + 2 * i);
        } else {
            for (int i = 0; i < 4; ++i) {   // sixteen lanes
                const uint8x8_t pairs = vld1_u8(base + 8 * i);
                const uint8x8x2_t nibbles = vzip_u8(vshl_n_u8(pairs, 4), vand_u8(pairs, vdup_n_u8(0xF0)));
                spread(with_high_bits<kBits>(vcombine_u8(nibbles.val[0], nibbles.val[1]), high, i), words + 2 * i);
            }
        }
    }

    // The whole numbers nearest to binary32 numbers, the even one of two as near.
    static Integers nearest(Floats values) { return (Integers)vcvtnq_s32_f32((float32x4_t)values); }

    // Those nearest to the products of a number and as many words as Shorts has lanes; they have 16 bits.
    template <class Words>
    static Shorts nearest(Words, const std::uint8_t* words, float factor) {
        const Floats first = widen(Words{}, words), second = widen(Words{}, words + sizeof(typename Words::Word) * 4);
        return (Shorts)vqmovn_high_s32(vqmovn_s32((int32x4_t)nearest(first * factor)),
                                       (int32x4_t)nearest(second * factor));
    }

    static Floats binary16(Halves words) { return (Floats)vcvt_f32_f16((float16x4_t)words); }

    // Binary32 numbers from memory, as many as Doubles has lanes.
    static Doubles doubles(const float* from) { return (Doubles)vcvt_f64_f32(vld1_f32(from)); }

    static Doubles first_half(Floats values) { return (Doubles)vcvt_f64_f32(vget_low_f32((float32x4_t)values)); }
    static Doubles second_half(Floats values) { return (Doubles)vcvt_high_f64_f32((float32x4_t)values); }

    // The nearest binary32 numbers.
    static Doubles round_to_binary32(Doubles values) {
        return (Doubles)vcvt_f64_f32(vcvt_f32_f64((float64x2_t)values));
    }
    static Floats join(Doubles first, Doubles second) {
        return (Floats)vcvt_high_f32_f64(vcvt_f32_f64((float64x2_t)first), (float64x2_t)second);
    }

    static bool any(Shorts words) { return vmaxvq_u16((uint16x8_t)words) != 0; }
    static bool every(Integers truths) { return vminvq_u32((uint32x4_t)truths) != 0; }
    static bool every(Longs truths) { return (truths[0] & truths[1]) != 0; }

    // The larger or smaller of two numbers, none of them NaN.
    static Floats larger(Floats a, Floats b) { return (Floats)vmaxq_f32((float32x4_t)a, (float32x4_t)b); }
    static Floats smaller(Floats a, Floats b) { return (Floats)vminq_f32((float32x4_t)a, (float32x4_t)b); }
    static Doubles larger(Doubles a, Doubles b) { return (Doubles)vmaxq_f64((float64x2_t)a, (float64x2_t)b); }

    // The largest of non-negative integers.
    static std::int32_t largest(Shorts values) { return vmaxvq_s16((int16x8_t)values); }
    static std::int32_t largest(Integers values) { return vmaxvq_s32((int32x4_t)values); }

private:
    static Floats widen(Bf16Words, const std::uint8_t* words) { return (Floats)(extend_words(words) << 16); }
    static Floats widen(F16Words, const std::uint8_t* words) { return binary16(load<Halves>(words, 0)); }
    static Floats widen(F32Words, const std::uint8_t* words) { return load<Floats>(words, 0); }

    // Bytes, each in the upper half of a 16-bit word.
    static void spread(uint8x16_t bytes, Shorts* words) {
        words[0] = (Shorts)vzip1q_u8(vdupq_n_u8(0), bytes);
        words[1] = (Shorts)vzip2q_u8(vdupq_n_u8(0), bytes);
    }

    // Sixteen codes whose low nibbles are given.
    template <int kBits>
    static uint8x16_t with_high_bits(uint8x16_t nibbles, const std::uint8_t* high, int sixteen) {
        if constexpr (kBits == 5) {
            const uint8x8_t first = vdup_n_u8(high[2 * sixteen]), second = vdup_n_u8(high[2 * sixteen + 1]);
            return above(vcombine_u8(first, second), 0x8040201008040201, nibbles);
        } else if constexpr (kBits == 6) {
            alignas(16) constexpr std::uint8_t kOfLanes[16] = {0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3};
            std::uint32_t four;
            std::memcpy(&four, high + 4 * sixteen, sizeof(four));
            const uint8x16_t bits = vqtbl1q_u8(vreinterpretq_u8_u32(vdupq_n_u32(four)), vld1q_u8(kOfLanes));
            return above(bits, 0x8020080280200802, above(bits, 0x4010040140100401, nibbles));
        } else {
            return nibbles;
        }
    }

    // Each byte of `below` moved down by a bit, with one bit of each byte of `bits` above it: the mean, rounded up, of
    // an even byte and of 255 or 0.
    static uint8x16_t above(uint8x16_t bits, std::uint64_t which, uint8x16_t below) {
        return vrhaddq_u8(vtstq_u8(bits, vreinterpretq_u8_u64(vdupq_n_u64(which))), below);
    }
};

}  // namespace
}  // namespace ninforge::verify
