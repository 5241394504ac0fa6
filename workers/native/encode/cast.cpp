#include "cast.h"

#include <cmath>

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
        if (!std::isfinite(value)) return FaultKind::kNonFinite;
        return std::trunc(value) == value ? FaultKind::kOutOfRange : FaultKind::kFractional;
    }
};

template <class Conversion>
std::optional<Fault> convert_all(const u8* source, std::size_t count, u8* out) {
    constexpr std::size_t kBlock = 4096;
    const auto* words = reinterpret_cast<const typename Conversion::Word*>(source);
    auto* results = reinterpret_cast<typename Conversion::Result*>(out);
    for (std::size_t start = 0; start < count; start += kBlock) {
        const std::size_t end = count - start < kBlock ? count : start + kBlock;
        u32 refused = 0;
        for (std::size_t i = start; i < end; ++i) {
            results[i] = static_cast<typename Conversion::Result>(Conversion::convert(words[i]));
            refused |= Conversion::refuses(words[i]);
        }
        if (refused == 0) continue;
        std::size_t i = start;
        while (!Conversion::refuses(words[i])) ++i;
        return Fault{Conversion::why(words[i]), 0, i, words[i]};
    }
    return std::nullopt;
}

template <template <class> class Conversion>
std::optional<Fault> cast_to_bf16(const u8* source, Dtype from, std::size_t count, u8* out) {
    return from == Dtype::kF16 ? convert_all<Conversion<F16Bits>>(source, count, out)
                               : convert_all<Conversion<F32Bits>>(source, count, out);
}

std::optional<Fault> cast_to_i32(const u8* source, Dtype from, std::size_t count, u8* out) {
    switch (from) {
        case Dtype::kI8:
            return convert_all<IntegerToI32<I8Bits>>(source, count, out);
        case Dtype::kI16:
            return convert_all<IntegerToI32<I16Bits>>(source, count, out);
        case Dtype::kI64:
            return convert_all<IntegerToI32<I64Bits>>(source, count, out);
        case Dtype::kU8:
            return convert_all<IntegerToI32<U8Bits>>(source, count, out);
        case Dtype::kU16:
            return convert_all<IntegerToI32<U16Bits>>(source, count, out);
        case Dtype::kU32:
            return convert_all<IntegerToI32<U32Bits>>(source, count, out);
        case Dtype::kU64:
            return convert_all<IntegerToI32<U64Bits>>(source, count, out);
        case Dtype::kBf16:
            return convert_all<FloatToI32<BinaryToDouble<Bf16Bits>>>(source, count, out);
        case Dtype::kF16:
            return convert_all<FloatToI32<BinaryToDouble<F16Bits>>>(source, count, out);
        case Dtype::kF32:
            return convert_all<FloatToI32<BinaryToDouble<F32Bits>>>(source, count, out);
        default:
            return convert_all<FloatToI32<F64Bits>>(source, count, out);
    }
}

}  // namespace

std::optional<Fault> cast(const std::uint8_t* source, Dtype from, DirectFormat to, CastRule rule, std::size_t count,
                          std::uint8_t* out) {
    switch (to) {
        case DirectFormat::kBf16:
            return rule == CastRule::kExact ? cast_to_bf16<NarrowToBf16>(source, from, count, out)
                                            : cast_to_bf16<RoundToBf16>(source, from, count, out);
        case DirectFormat::kFp32:
            return from == Dtype::kBf16 ? convert_all<WidenToFp32<Bf16Bits>>(source, count, out)
                                        : convert_all<WidenToFp32<F16Bits>>(source, count, out);
        case DirectFormat::kI32:
            return cast_to_i32(source, from, count, out);
    }
    return std::nullopt;
}

}  // namespace ninforge::encode
