#include "cast.h"

#include <cstring>

#include "exact.h"
#include "source_words.h"
#include "vector_kernels.h"

namespace ninforge::verify {
namespace {

// What a rule makes of one source word: a word of the target format, or the reason why there is none.
struct Outcome {
    std::uint32_t word;
    bool refused = false;
    FaultKind why = FaultKind::kNotExact;
};

Outcome refuse(FaultKind why) { return {0, true, why}; }

// The word of the same meaning in a format with kFraction fraction bits and the exponent field of binary32.
template <class Words, int kFraction>
Outcome same_value(typename Words::Word word) {
    constexpr BinaryFormat kFormat = kFraction == 7 ? kBfloat16 : kBinary32;
    constexpr std::uint32_t kInfinity = 0xFFu << kFraction;
    const std::uint32_t sign = Words::negative(word) ? 0x100u << kFraction : 0;
    if (!Words::finite(word)) {
        const std::uint64_t aligned = Words::fraction(word) << 23 >> Words::kFraction;   // of binary32's 23 bits
        if (aligned % (std::uint64_t{1} << (23 - kFraction)) != 0) return refuse(FaultKind::kNotExact);
        return {sign | kInfinity | static_cast<std::uint32_t>(aligned >> (23 - kFraction))};
    }
    const Exact value = Words::exact(word);
    const Exact rounded = round_to(value, kFormat);
    if (overflows(rounded, kFormat) || to_double(rounded) != to_double(value)) return refuse(FaultKind::kNotExact);
    return {sign | word_of(rounded, kFormat)};
}

template <class Words>
Outcome nearest_value(typename Words::Word word) {
    if (!Words::finite(word)) return refuse(FaultKind::kNonFinite);
    const Exact rounded = round_to(Words::exact(word), kBfloat16);
    if (overflows(rounded, kBfloat16)) return refuse(FaultKind::kOverflow);
    return {(Words::negative(word) ? 0x8000u : 0u) | word_of(rounded, kBfloat16)};
}

Outcome checked_integer(bool negative, std::uint64_t magnitude) {
    if (magnitude > (negative ? 0x80000000u : 0x7FFFFFFFu)) return refuse(FaultKind::kOutOfRange);
    const auto word = static_cast<std::uint32_t>(magnitude);
    return {negative ? 0u - word : word};
}

template <class Integer>
Outcome whole_number(Integer value) {
    const bool negative = value < Integer{0};
    const auto bits = static_cast<std::uint64_t>(value);
    return checked_integer(negative, negative ? 0 - bits : bits);
}

template <class Words>
Outcome whole_number_of_float(typename Words::Word word) {
    if (!Words::finite(word)) return refuse(FaultKind::kNonFinite);
    const Exact value = Words::exact(word);
    if (value.mantissa == 0) return {0};
    const int zeros = __builtin_ctzll(value.mantissa);
    if (value.exponent + zeros < 0) return refuse(FaultKind::kFractional);
    if (bit_length(value.mantissa) + value.exponent > 32) return refuse(FaultKind::kOutOfRange);
    const std::uint64_t odd = value.mantissa >> zeros;
    return checked_integer(Words::negative(word), odd << (value.exponent + zeros));
}

using Refusal = std::optional<Fault>;

template <class Word, class Result>
Refusal derive_all(const std::uint8_t* source, std::size_t count, std::uint8_t* out, Outcome rule(Word)) {
    for (std::size_t i = 0; i < count; ++i) {
        const Word word = load<Word>(source, i);
        const Outcome outcome = rule(word);
        if (outcome.refused) return Fault{outcome.why, 0, i, word};
        const auto result = static_cast<Result>(outcome.word);
        std::memcpy(out + i * sizeof(Result), &result, sizeof(Result));
    }
    return std::nullopt;
}

template <class Words, class Result>
Refusal derive_floats(const std::uint8_t* source, std::size_t count, std::uint8_t* out,
                       Outcome rule(typename Words::Word)) {
    return derive_all<typename Words::Word, Result>(source, count, out, rule);
}

template <class Word, class Integer>
Refusal derive_integers(const std::uint8_t* source, std::size_t count, std::uint8_t* out) {
    return derive_all<Word, std::uint32_t>(
        source, count, out, [](Word word) { return whole_number(static_cast<Integer>(word)); });
}

Refusal derive_bf16(const std::uint8_t* source, Dtype from, CastRule rule, std::size_t count,
                     std::uint8_t* out) {
    using Result = std::uint16_t;
    const bool exact = rule == CastRule::kExact;
    if (from == Dtype::kF16)
        return derive_floats<F16Words, Result>(source, count, out,
                                                exact ? same_value<F16Words, 7> : nearest_value<F16Words>);
    return derive_floats<F32Words, Result>(source, count, out,
                                            exact ? same_value<F32Words, 7> : nearest_value<F32Words>);
}

Refusal derive_fp32(const std::uint8_t* source, Dtype from, std::size_t count, std::uint8_t* out) {
    using Result = std::uint32_t;
    if (from == Dtype::kBf16) return derive_floats<Bf16Words, Result>(source, count, out, same_value<Bf16Words, 23>);
    return derive_floats<F16Words, Result>(source, count, out, same_value<F16Words, 23>);
}

Refusal derive_i32(const std::uint8_t* source, Dtype from, std::size_t count, std::uint8_t* out) {
    using Result = std::uint32_t;
    switch (from) {
        case Dtype::kI8:
            return derive_integers<std::uint8_t, std::int8_t>(source, count, out);
        case Dtype::kI16:
            return derive_integers<std::uint16_t, std::int16_t>(source, count, out);
        case Dtype::kI64:
            return derive_integers<std::uint64_t, std::int64_t>(source, count, out);
        case Dtype::kU8:
            return derive_integers<std::uint8_t, std::uint8_t>(source, count, out);
        case Dtype::kU16:
            return derive_integers<std::uint16_t, std::uint16_t>(source, count, out);
        case Dtype::kU32:
            return derive_integers<std::uint32_t, std::uint32_t>(source, count, out);
        case Dtype::kU64:
            return derive_integers<std::uint64_t, std::uint64_t>(source, count, out);
        case Dtype::kBf16:
            return derive_floats<Bf16Words, Result>(source, count, out, whole_number_of_float<Bf16Words>);
        case Dtype::kF16:
            return derive_floats<F16Words, Result>(source, count, out, whole_number_of_float<F16Words>);
        case Dtype::kF32:
            return derive_floats<F32Words, Result>(source, count, out, whole_number_of_float<F32Words>);
        default:
            return derive_floats<F64Words, Result>(source, count, out, whole_number_of_float<F64Words>);
    }
}

Refusal derive_rest(const std::uint8_t* source, Dtype from, DirectFormat to, CastRule rule, std::size_t count,
                    std::uint8_t* out) {
    switch (to) {
        case DirectFormat::kBf16:
            return derive_bf16(source, from, rule, count, out);
        case DirectFormat::kFp32:
            return derive_fp32(source, from, count, out);
        default:
            return derive_i32(source, from, count, out);
    }
}

}  // namespace

std::optional<Fault> derive_cast(const std::uint8_t* source, Dtype from, DirectFormat to, CastRule rule, std::size_t count,
                    std::uint8_t* out) {
    const VectorKernels* vector = vector_kernels();
    const std::size_t done = vector ? vector->cast(source, from, to, rule, count, out) : 0;
    auto fault = derive_rest(source + done * bytes_of(from), from, to, rule, count - done, out + done * bytes_of(to));
    if (fault) fault->column += done;
    return fault;
}

}  // namespace ninforge::verify
