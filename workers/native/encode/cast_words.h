// The casts of recipe.md, word by word and over many words, for whatever instruction set this is compiled for.
#pragma once

#include <cstddef>
#include <cstdint>

#include "../dtypes.h"
#include "../findings.h"
#include "encoder.h"

namespace ninforge::encode {
namespace {

// Each conversion below says which word a source word becomes, whether the rule refuses it, and why it does.

u32 widen_f16_word(u32 word) {
    constexpr u32 kRebias = (127 - 15) << 23;   // twice for infinity and NaN: all exponent bits stay set
    const u32 magnitude = word & 0x7FFF;
    const u32 wide = to_bits(widen_f16_magnitude(magnitude)) + (magnitude >= 0x7C00 ? kRebias : 0);
    return wide | (word & 0x8000) << 16;
}

struct Bf16Bits {
    using Word = Word16;
    static u32 binary32(u32 word) { return word << 16; }
};

struct F16Bits {
    using Word = Word16;
    static u32 binary32(u32 word) { return widen_f16_word(word); }
};

struct F32Bits {
    using Word = Word32;
    static u32 binary32(u32 word) { return word; }
};

template <class From>
struct WidenToFp32 {
    using Word = typename From::Word;
    using Result = Word32;
    static u32 convert(u32 word) { return From::binary32(word); }
    static bool refuses(u32) { return false; }
    static FaultKind why(u32) { return FaultKind::kNotExact; }
};

template <class From>
struct NarrowToBf16 {
    using Word = typename From::Word;
    using Result = Word16;
    static u32 convert(u32 word) { return From::binary32(word) >> 16; }
    static bool refuses(u32 word) { return (From::binary32(word) & 0xFFFF) != 0; }
    static FaultKind why(u32) { return FaultKind::kNotExact; }
};

template <class From>
struct RoundToBf16 {
    using Word = typename From::Word;
    using Result = Word16;
    static u32 convert(u32 word) { return bf16_word(From::binary32(word)); }
    static bool refuses(u32 word) { return F32::magnitude(From::binary32(word)) >= F32::kBf16Overflow; }
    static FaultKind why(u32 word) {
        const bool finite = F32::magnitude(From::binary32(word)) < F32::kNonFinite;
        return finite ? FaultKind::kOverflow : FaultKind::kNonFinite;
    }
};

// Integers, read with their own sign.
struct I8Bits {
    using Word = u8;
    using Integer = signed char;
};

struct I16Bits {
    using Word = Word16;
    using Integer = i16;
};

struct I64Bits {
    using Word = Word64;
    using Integer = long long;
};

struct U8Bits {
    using Word = u8;
    using Integer = u8;
};

struct U16Bits {
    using Word = Word16;
    using Integer = u16;
};

struct U32Bits {
    using Word = Word32;
    using Integer = u32;
};

struct U64Bits {
    using Word = Word64;
    using Integer = u64;
};

template <class From>
struct IntegerToI32 {
    using Word = typename From::Word;
    using Result = Word32;
    using Integer = typename From::Integer;
    static u32 convert(u64 word) { return static_cast<u32>(static_cast<Integer>(word)); }
    static bool refuses(u64 word) {
        // The low 32 bits mean the value if sign extension of them is the value, and is not negative by accident.
        constexpr bool kSigned = static_cast<Integer>(-1) < Integer{0};
        const auto low = static_cast<i32>(convert(word));
        const bool same = static_cast<long long>(low) == static_cast<long long>(static_cast<Integer>(word));
        return kSigned ? !same : !same || low < 0;
    }
    static FaultKind why(u64) { return FaultKind::kOutOfRange; }
};

template <class From>
struct BinaryToDouble {
    using Word = typename From::Word;
    static double value(u64 word) { return from_bits(From::binary32(static_cast<u32>(word))); }
};

struct F64Bits {
    using Word = Word64;
    static double value(u64 word) { return __builtin_bit_cast(double, word); }
};

template <class From>
struct FloatToI32 {
    using Word = typename From::Word;
    using Result = Word32;
    static double in_range(double value) { return value >= -2147483648.0 && value <= 2147483647.0 ? value : 0.0; }
    static u32 convert(u64 word) { return static_cast<u32>(static_cast<i32>(in_range(From::value(word)))); }
    static bool refuses(u64 word) {
        return static_cast<double>(static_cast<i32>(in_range(From::value(word)))) != From::value(word);
    }
    static FaultKind why(u64 word) {
        const double value = From::value(word);
        if (!__builtin_isfinite(value)) return FaultKind::kNonFinite;
        return __builtin_trunc(value) == value ? FaultKind::kOutOfRange : FaultKind::kFractional;
    }
};

// Calls `use` with the conversion that a cast of recipe.md is.
template <template <class> class Conversion, class Use>
auto with_conversion_to_bf16(Dtype from, Use use) {
    return from == Dtype::kF16 ? use(Conversion<F16Bits>{}) : use(Conversion<F32Bits>{});
}

template <class Use>
auto with_conversion_to_i32(Dtype from, Use use) {
    switch (from) {
        case Dtype::kI8:
            return use(IntegerToI32<I8Bits>{});
        case Dtype::kI16:
            return use(IntegerToI32<I16Bits>{});
        case Dtype::kI64:
            return use(IntegerToI32<I64Bits>{});
        case Dtype::kU8:
            return use(IntegerToI32<U8Bits>{});
        case Dtype::kU16:
            return use(IntegerToI32<U16Bits>{});
        case Dtype::kU32:
            return use(IntegerToI32<U32Bits>{});
        case Dtype::kU64:
            return use(IntegerToI32<U64Bits>{});
        case Dtype::kBf16:
            return use(FloatToI32<BinaryToDouble<Bf16Bits>>{});
        case Dtype::kF16:
            return use(FloatToI32<BinaryToDouble<F16Bits>>{});
        case Dtype::kF32:
            return use(FloatToI32<BinaryToDouble<F32Bits>>{});
        default:
            return use(FloatToI32<F64Bits>{});
    }
}

template <class Use>
auto with_conversion(Dtype from, DirectFormat to, CastRule rule, Use use) {
    switch (to) {
        case DirectFormat::kBf16:
            return rule == CastRule::kExact ? with_conversion_to_bf16<NarrowToBf16>(from, use)
                                            : with_conversion_to_bf16<RoundToBf16>(from, use);
        case DirectFormat::kFp32:
            return from == Dtype::kBf16 ? use(WidenToFp32<Bf16Bits>{}) : use(WidenToFp32<F16Bits>{});
        default:
            return with_conversion_to_i32(from, use);
    }
}

// Converts words up to the first block that has one which the rule refuses, and returns their number.
template <class Conversion>
std::size_t convert_blocks(const u8* source, std::size_t count, u8* out) {
    constexpr std::size_t kBlock = 4096;
    for (std::size_t start = 0; start < count; start += kBlock) {
        const auto* words = reinterpret_cast<const typename Conversion::Word*>(source) + start;
        auto* results = reinterpret_cast<typename Conversion::Result*>(out) + start;
        const std::size_t length = count - start < kBlock ? count - start : kBlock;
        u32 refused = 0;
        for (std::size_t i = 0; i < length; ++i) {
            results[i] = static_cast<typename Conversion::Result>(Conversion::convert(words[i]));
            refused |= Conversion::refuses(words[i]);
        }
        if (refused != 0) return start;
    }
    return count;
}

inline std::size_t cast_words(const std::uint8_t* source, Dtype from, DirectFormat to, CastRule rule, std::size_t count,
                              std::uint8_t* out) {
    return with_conversion(from, to, rule, [&](auto conversion) {
        return convert_blocks<decltype(conversion)>(source, count, out);
    });
}

}  // namespace
}  // namespace ninforge::encode
