// What the kernels' rows need of AArch64's NEON.
#pragma once

#include <arm_neon.h>

#include "encoder.h"

namespace ninforge::encode {
namespace {

struct Neon {
    using Floats = float32x4_t;
    using Integers = int32x4_t;
    using Bytes = uint8x16x2_t;   // 32 codes
    static constexpr int kLanes = 4, kVectors = 32 / kLanes;

    static Floats all(float value) { return vdupq_n_f32(value); }
    static Integers all(i32 value) { return vdupq_n_s32(value); }
    static Floats floats(Integers bits) { return vreinterpretq_f32_s32(bits); }
    static Integers bits(Floats values) { return vreinterpretq_s32_f32(values); }
    static Floats multiply(Floats a, Floats b) { return vmulq_f32(a, b); }
    static Floats add(Floats a, Floats b) { return vaddq_f32(a, b); }
    static Integers add(Integers a, Integers b) { return vaddq_s32(a, b); }
    static Integers subtract(Integers a, Integers b) { return vsubq_s32(a, b); }
    static Integers both(Integers a, Integers b) { return vandq_s32(a, b); }
    static Integers least(Integers a, Integers b) { return vminq_s32(a, b); }
    static Integers most(Integers a, Integers b) { return vmaxq_s32(a, b); }
    template <int kBits>
    static Integers shift_right(Integers a) {
        return vreinterpretq_s32_u32(vshrq_n_u32(vreinterpretq_u32_s32(a), kBits));
    }

    // To the nearest integer, ties to even.
    static Integers round(Floats values) { return vcvtnq_s32_f32(values); }

    // 32 source words as binary32.
    static void widen(Bf16, const Word16* words, Floats* values) {
        for (int i = 0; i < 8; ++i)
            values[i] = vreinterpretq_f32_u32(vshll_n_u16(vreinterpret_u16_u8(vld1_u8(bytes(words + 4 * i))), 16));
    }

    static void widen(F16, const Word16* words, Floats* values) {
        for (int i = 0; i < 8; ++i)
            values[i] = vcvt_f32_f16(vreinterpret_f16_u8(vld1_u8(bytes(words + 4 * i))));
    }

    static void widen(F32, const Word32* words, Floats* values) {
        for (int i = 0; i < 8; ++i) values[i] = vreinterpretq_f32_u8(vld1q_u8(bytes(words + 4 * i)));
    }

    // 32 integers, saturated to signed bytes.
    template <class Source>
    static Bytes narrow(Source, const Integers* values) {
        const auto sixteen = [](const Integers* of) {
            const int16x8_t low = vcombine_s16(vqmovn_s32(of[0]), vqmovn_s32(of[1]));
            const int16x8_t high = vcombine_s16(vqmovn_s32(of[2]), vqmovn_s32(of[3]));
            return vreinterpretq_u8_s8(vcombine_s8(vqmovn_s16(low), vqmovn_s16(high)));
        };
        return {{sixteen(values), sixteen(values + 4)}};
    }

    // The largest magnitude of `count` words, a multiple of 32.
    template <class Source>
    static i32 largest(const typename Source::Word* words, u64 count) {
        if constexpr (sizeof(typename Source::Word) == 2) {
            int16x8_t most = vdupq_n_s16(0);
            for (u64 i = 0; i < count; i += 8) {
                const int16x8_t eight = vreinterpretq_s16_u8(vld1q_u8(bytes(words + i)));
                most = vmaxq_s16(most, vandq_s16(eight, vdupq_n_s16(0x7FFF)));
            }
            return vmaxvq_s16(most);
        } else {
            int32x4_t most = vdupq_n_s32(0);
            for (u64 i = 0; i < count; i += 4) {
                const int32x4_t four = vreinterpretq_s32_u8(vld1q_u8(bytes(words + i)));
                most = vmaxq_s32(most, vandq_s32(four, vdupq_n_s32(0x7FFFFFFF)));
            }
            return vmaxvq_s32(most);
        }
    }

    // Scales of eight groups, of their largest magnitudes: `group_scale` of encoder.h, of each.
    template <int kBits>
    static void group_scales(const float* amax, u16* words, float* inverses) {
        for (int i = 0; i < 8; i += 4) {
            const float32x4_t largest = vld1q_f32(amax + i);
            const uint32x4_t zero = vceqzq_f32(largest);
            const float32x4_t raw = vdivq_f32(largest, all(static_cast<float>(Grouped<kBits>::kMax)));
            const uint16x4_t rescued = vmax_u16(vreinterpret_u16_f16(vcvt_f16_f32(raw)), vdup_n_u16(1));
            const float32x4_t inverse = vdivq_f32(all(1.0f), vcvt_f32_f16(vreinterpret_f16_u16(rescued)));
            vst1q_f32(inverses + i, vreinterpretq_f32_u32(vbicq_u32(vreinterpretq_u32_f32(inverse), zero)));
            vst1_u16(words + i, vbic_u16(rescued, vmovn_u32(zero)));
        }
    }

    static Bytes clamp(Bytes codes, i32 low, i32 high) {
        const int8x16_t least = vdupq_n_s8(static_cast<signed char>(low));
        const int8x16_t most = vdupq_n_s8(static_cast<signed char>(high));
        for (uint8x16_t& sixteen : codes.val)
            sixteen = vreinterpretq_u8_s8(vminq_s8(vmaxq_s8(vreinterpretq_s8_u8(sixteen), least), most));
        return codes;
    }

    // Codes of magnitudes, each with the sign of a byte beside it.
    static Bytes with_signs(Bytes magnitudes, Bytes signs) {
        const uint8x16_t sign = vdupq_n_u8(0x80);
        for (int i = 0; i < 2; ++i)
            magnitudes.val[i] = vorrq_u8(magnitudes.val[i], vandq_u8(signs.val[i], sign));
        return magnitudes;
    }

    static void store(Bytes codes, u8* to) {
        vst1q_u8(to, codes.val[0]);
        vst1q_u8(to + 16, codes.val[1]);
    }

    // Base plane: the low nibbles of 64 codes, even lanes in the low halves.
    static void store_nibbles(Bytes first, Bytes second, u8* to) {
        store({{nibbles(first), nibbles(second)}}, to);
    }

    // High plane at 5 bits: bit 4 of each of 64 codes.
    static void store_bits(Bytes first, Bytes second, u8* to) {
        alignas(16) constexpr signed char kPlaces[16] = {0, 1, 2, 3, 4, 5, 6, 7, 0, 1, 2, 3, 4, 5, 6, 7};
        const uint8x16_t quarters = vpaddq_u8(placed(first, 1, kPlaces), placed(second, 1, kPlaces));
        vst1_u8(to, vget_low_u8(vpaddq_u8(quarters, quarters)));
    }

    // High plane at 6 bits: bits 4 and 5 of each of 64 codes.
    static void store_pairs(Bytes first, Bytes second, u8* to) {
        alignas(16) constexpr signed char kPlaces[16] = {0, 2, 4, 6, 0, 2, 4, 6, 0, 2, 4, 6, 0, 2, 4, 6};
        vst1q_u8(to, vpaddq_u8(placed(first, 3, kPlaces), placed(second, 3, kPlaces)));
    }

private:
    static const u8* bytes(const void* from) { return static_cast<const u8*>(from); }

    static uint8x16_t nibbles(Bytes codes) {
        const uint8x16_t even = vuzp1q_u8(codes.val[0], codes.val[1]), odd = vuzp2q_u8(codes.val[0], codes.val[1]);
        return vsliq_n_u8(even, odd, 4);
    }

    // The bits from bit 4 on of 32 codes, each shifted to its place in a byte, and neighbours joined.
    static uint8x16_t placed(Bytes codes, u8 mask, const signed char* places) {
        const int8x16_t shift = vld1q_s8(places);
        const auto shifted = [&](uint8x16_t sixteen) {
            return vshlq_u8(vandq_u8(vshrq_n_u8(sixteen, 4), vdupq_n_u8(mask)), shift);
        };
        return vpaddq_u8(shifted(codes.val[0]), shifted(codes.val[1]));
    }
};

}  // namespace
}  // namespace ninforge::encode
