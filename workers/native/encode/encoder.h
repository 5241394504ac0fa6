// Group-level arithmetic of the encoder profiles MAXABS_F16_RECIP_RNE_V1 (numeric-formats.md, section 7) and
// FP8_ROW_MAXABS_RECIP_RNE_V1 (targets.md), and the bit packing of row-split-k128-v1 (storage-layouts.md).
//
// One source for two compilers: a C++17 host compiler, and NVRTC, which has no standard headers. Nothing here
// allocates, throws or branches on an element's value, so that every loop over the lanes of a group is a vector loop.
//
// Each binary32 operation rounds once, to nearest, ties to even: the host is compiled with -ffp-contract=off, the
// device uses the intrinsics that are never contracted. Subnormals are kept (NVRTC's default, -ftz=false).
#pragma once

#if defined(__CUDACC_RTC__)
#define NINFORGE_HOST_DEVICE __host__ __device__ __forceinline__
#define NINFORGE_UNALIGNED
#else
#define NINFORGE_HOST_DEVICE inline __attribute__((always_inline))
#define NINFORGE_UNALIGNED __attribute__((aligned(1), may_alias))
#if defined(__FAST_MATH__) || (defined(__FLT_EVAL_METHOD__) && __FLT_EVAL_METHOD__ != 0)
#error "binary32 arithmetic must be exact: no -ffast-math, no excess precision"
#endif
#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "words are little-endian"
#endif
#endif

namespace ninforge::encode {
// Unnamed, so that an object file compiled for one instruction set never lends its copy to another.
namespace {

using u8 = unsigned char;
using i16 = short;
using u16 = unsigned short;
using i32 = int;
using u32 = unsigned int;
using u64 = unsigned long long;

// Words as checkpoints and payloads hold them: on the host at any byte address.
typedef u16 NINFORGE_UNALIGNED Word16;
typedef u32 NINFORGE_UNALIGNED Word32;
typedef u64 NINFORGE_UNALIGNED Word64;

#if defined(__CUDACC_RTC__)
NINFORGE_HOST_DEVICE float from_bits(u32 bits) { return __uint_as_float(bits); }
NINFORGE_HOST_DEVICE u32 to_bits(float value) { return __float_as_uint(value); }
NINFORGE_HOST_DEVICE float add(float a, float b) { return __fadd_rn(a, b); }
NINFORGE_HOST_DEVICE float multiply(float a, float b) { return __fmul_rn(a, b); }
NINFORGE_HOST_DEVICE float divide(float a, float b) { return __fdiv_rn(a, b); }
#else
NINFORGE_HOST_DEVICE float from_bits(u32 bits) { return __builtin_bit_cast(float, bits); }
NINFORGE_HOST_DEVICE u32 to_bits(float value) { return __builtin_bit_cast(u32, value); }
NINFORGE_HOST_DEVICE float add(float a, float b) { return a + b; }
NINFORGE_HOST_DEVICE float multiply(float a, float b) { return a * b; }
NINFORGE_HOST_DEVICE float divide(float a, float b) { return a / b; }
#endif

// binary16 to binary32, exactly, for a finite magnitude (sign bit clear).
NINFORGE_HOST_DEVICE float widen_f16_magnitude(u32 magnitude) {
    constexpr u32 kRebias = (127 - 15) << 23;
    const u32 shifted = magnitude << 13;
    const float normal = from_bits(shifted + kRebias);
    // A subnormal's fraction, placed below the implicit one of 2^-14: taking that one away leaves the value.
    const float subnormal = add(from_bits(shifted + kRebias + (1u << 23)), -from_bits(113u << 23));
    return magnitude < 0x400 ? subnormal : normal;
}

// The source dtypes. `Magnitude` is a signed type in which words without their sign compare as their values do.
struct Bf16 {
    using Word = Word16;
    using Magnitude = i16;
    static constexpr i32 kNonFinite = 0x7F80;      // least magnitude that is infinite or NaN
    static constexpr i32 kBf16Overflow = 0x7F80;   // least magnitude that is not a finite BF16 once rounded
    NINFORGE_HOST_DEVICE static Magnitude magnitude(u32 word) { return static_cast<Magnitude>(word & 0x7FFF); }
    NINFORGE_HOST_DEVICE static float widen(u32 word) { return from_bits(word << 16); }
    NINFORGE_HOST_DEVICE static float round_to_bf16(u32 word) { return widen(word); }
};

struct F16 {
    using Word = Word16;
    using Magnitude = i16;
    static constexpr i32 kNonFinite = 0x7C00;
    static constexpr i32 kBf16Overflow = 0x7C00;
    NINFORGE_HOST_DEVICE static Magnitude magnitude(u32 word) { return static_cast<Magnitude>(word & 0x7FFF); }
    NINFORGE_HOST_DEVICE static float widen(u32 word) {
        return from_bits(to_bits(widen_f16_magnitude(word & 0x7FFF)) | (word & 0x8000) << 16);
    }
    NINFORGE_HOST_DEVICE static float round_to_bf16(u32 word);
};

struct F32 {
    using Word = Word32;
    using Magnitude = i32;
    static constexpr i32 kNonFinite = 0x7F800000;
    static constexpr i32 kBf16Overflow = 0x7F7F8000;
    NINFORGE_HOST_DEVICE static Magnitude magnitude(u32 word) { return static_cast<Magnitude>(word & 0x7FFFFFFF); }
    NINFORGE_HOST_DEVICE static float widen(u32 word) { return from_bits(word); }
    NINFORGE_HOST_DEVICE static float round_to_bf16(u32 word);
};

// The BF16 word nearest to a finite binary32 word, ties to even. A magnitude past the last finite one gives infinity.
NINFORGE_HOST_DEVICE u32 bf16_word(u32 binary32) { return (binary32 + 0x7FFF + (binary32 >> 16 & 1)) >> 16; }

NINFORGE_HOST_DEVICE float F16::round_to_bf16(u32 word) { return from_bits(bf16_word(to_bits(widen(word))) << 16); }
NINFORGE_HOST_DEVICE float F32::round_to_bf16(u32 word) { return from_bits(bf16_word(word) << 16); }

// The largest magnitude of `count` words.
template <class Source>
NINFORGE_HOST_DEVICE typename Source::Magnitude largest_magnitude(const typename Source::Word* source, u64 count) {
    typename Source::Magnitude largest = 0;
    for (u64 i = 0; i < count; ++i) {
        const typename Source::Magnitude m = Source::magnitude(source[i]);
        largest = m > largest ? m : largest;
    }
    return largest;
}

// ---- grouped signed-integer formats

template <int kBits>
struct Grouped {
    static constexpr int kGroup = kBits == 8 ? 32 : 64;
    static constexpr i32 kMax = (1 << (kBits - 1)) - 1;
    static constexpr i32 kMin = kBits == 8 ? -127 : -kMax - 1;
    static constexpr int kBaseBytes = 32;
    static constexpr int kHighBytes = kBits == 8 ? 0 : kGroup * (kBits - 4) / 8;
};

// round_f16 of a finite, non-negative binary32 value; 0x7C00 where it overflows.
NINFORGE_HOST_DEVICE u32 round_f16(float value) {
    const u32 bits = to_bits(value);
    const u32 normal = (bits - ((127u - 15u) << 23) + 0xFFF + (bits >> 13 & 1)) >> 13;
    // Between 0.5 and 1 binary32 counts in units of 2^-24, as binary16 does below 2^-14.
    const u32 subnormal = to_bits(add(value, 0.5f)) - to_bits(0.5f);
    const u32 word = bits < 113u << 23 ? subnormal : normal;
    return word < 0x7C00 ? word : 0x7C00;
}

struct GroupScale {
    u32 word;        // binary16; 0x7C00: the group has no representable scale
    float inverse;   // round_f32(1 / scale), and +0 for the zero scale of an all-zero group
};

template <int kBits>
NINFORGE_HOST_DEVICE GroupScale group_scale(float amax) {
    if (amax == 0.0f) return {0, 0.0f};
    const u32 rounded = round_f16(divide(amax, static_cast<float>(Grouped<kBits>::kMax)));
    const u32 word = rounded == 0 ? 1 : rounded;
    return {word, divide(1.0f, widen_f16_magnitude(word))};
}

// The code of one value, as two's complement in the low kBits of a byte.
template <int kBits>
NINFORGE_HOST_DEVICE u8 grouped_code(float x, float inverse) {
    // A product is below 2^8 in magnitude; adding 1.5 * 2^23 leaves no room for a fraction, so the sum is rounded to
    // an integer, to nearest, ties to even.
    constexpr float kIntegral = 12582912.0f;
    const i32 rounded = static_cast<i32>(to_bits(add(multiply(x, inverse), kIntegral))) -
                        static_cast<i32>(to_bits(kIntegral));
    const i32 low = rounded < Grouped<kBits>::kMin ? Grouped<kBits>::kMin : rounded;
    const i32 code = low > Grouped<kBits>::kMax ? Grouped<kBits>::kMax : low;
    return static_cast<u8>(code & ((1 << kBits) - 1));
}

// Base plane: byte j holds the low nibbles of lanes 2j (low half) and 2j+1 (high half); at 8 bits byte i is lane i.
template <int kBits>
NINFORGE_HOST_DEVICE void pack_base(const u8* codes, u8* base) {
    if constexpr (kBits == 8) {
        for (int i = 0; i < 32; ++i) base[i] = codes[i];
    } else {
        for (int j = 0; j < 32; ++j) base[j] = static_cast<u8>((codes[2 * j] & 15) | codes[2 * j + 1] << 4);
    }
}

// High plane: the bits above bit 3, lane after lane, from bit 0 of each byte. Eight codes lie in one 64-bit word, a
// byte each; a multiplication by one power of two a lane brings the lanes' bits side by side at the top.
//
//   Q5  byte t:  bit i is bit 4 of lane 8t+i               Q6  byte t:  bits 2i, 2i+1 are bits 4, 5 of lane 4t+i
template <int kBits>
NINFORGE_HOST_DEVICE void pack_high(const u8* codes, u8* high) {
    for (int t = 0; t < Grouped<kBits>::kHighBytes; ++t) {
        if constexpr (kBits == 5) {
            const u64 lanes = *reinterpret_cast<const Word64*>(codes + 8 * t) >> 4 & 0x0101010101010101;
            high[t] = static_cast<u8>(lanes * 0x0102040810204080 >> 56);
        } else {
            const u32 lanes = *reinterpret_cast<const Word32*>(codes + 4 * t) >> 4 & 0x03030303;
            high[t] = static_cast<u8>(lanes * 0x01041040 >> 24);
        }
    }
}

enum class GroupStatus { kEncoded, kNonFinite, kScaleOverflow };

// Encodes one group of Grouped<kBits>::kGroup source words; a partly filled group comes with zeros in its other lanes,
// which change neither scale nor codes. Writes nothing unless the status is kEncoded.
template <class Source, int kBits>
NINFORGE_HOST_DEVICE GroupStatus encode_group(const typename Source::Word* source, u8* base, u8* high,
                                              Word16* scale) {
    constexpr int kGroup = Grouped<kBits>::kGroup;
    const typename Source::Magnitude largest = largest_magnitude<Source>(source, kGroup);
    if (largest >= Source::kNonFinite) return GroupStatus::kNonFinite;
    const GroupScale chosen = group_scale<kBits>(Source::widen(static_cast<u32>(largest)));
    if (chosen.word == 0x7C00) return GroupStatus::kScaleOverflow;
    alignas(64) u8 codes[kGroup];
    for (int i = 0; i < kGroup; ++i) codes[i] = grouped_code<kBits>(Source::widen(source[i]), chosen.inverse);
    pack_base<kBits>(codes, base);
    pack_high<kBits>(codes, high);
    *scale = static_cast<u16>(chosen.word);
    return GroupStatus::kEncoded;
}

// ---- row-scaled FP8

struct RowScale {
    u32 word;        // BF16
    float inverse;   // round_f32(1 / scale); infinite where the row is too small for the format
};

// The scale of a row whose largest magnitude, rounded to BF16, is amax > 0.
NINFORGE_HOST_DEVICE RowScale row_scale(float amax) {
    const u32 rounded = bf16_word(to_bits(divide(amax, 448.0f)));
    const u32 word = rounded == 0 ? 1 : rounded;
    return {word, divide(1.0f, from_bits(word << 16))};
}

NINFORGE_HOST_DEVICE bool is_finite(float value) { return (to_bits(value) & 0x7F800000) != 0x7F800000; }

// The E4M3FN code of one value that was rounded to BF16.
NINFORGE_HOST_DEVICE u8 fp8_code(float x, float inverse) {
    constexpr i32 kLargest = 0x43E00000;   // 448
    const u32 y = to_bits(multiply(x, inverse));
    const i32 magnitude = static_cast<i32>(y & 0x7FFFFFFF);
    const u32 clamped = static_cast<u32>(magnitude < kLargest ? magnitude : kLargest);
    const u32 normal = ((clamped + 0x7FFFF + (clamped >> 20 & 1)) >> 20) - ((127 - 7) << 3);
    // From 2^14 binary32 counts in units of 2^-9, as E4M3FN does below 2^-6.
    const u32 subnormal = to_bits(add(from_bits(clamped), 16384.0f)) - to_bits(16384.0f);
    const u32 code = clamped < (127u - 6u) << 23 ? subnormal : normal;
    return static_cast<u8>(code | (y >> 24 & 0x80));
}

}  // namespace
}  // namespace ninforge::encode
