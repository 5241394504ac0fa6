// Exact numbers and their one rounding, in integers (numeric-formats.md: binary16, binary32, BF16, round-to-nearest,
// ties-to-even). The verifier's own arithmetic: nothing here comes from the encoder.
#pragma once

#include <cstdint>

namespace ninforge::verify {
// Unnamed, so that an object file compiled for one instruction set never lends its copy to another.
namespace {

// The non-negative number mantissa * 2^exponent.
struct Exact {
    std::uint64_t mantissa;
    int exponent;
};

// A binary format: significant bits, exponent of its least positive number, and the power of two past all of them.
struct BinaryFormat {
    int precision;
    int least;
    int end;
};

inline constexpr BinaryFormat kBinary32{24, -149, 128};
inline constexpr BinaryFormat kBinary16{11, -24, 16};
inline constexpr BinaryFormat kBfloat16{8, -133, 128};

inline int bit_length(std::uint64_t value) { return value == 0 ? 0 : 64 - __builtin_clzll(value); }

// numerator / denominator, rounded to the format as if it had no largest number. Mantissas are below 2^25.
inline Exact round_quotient(Exact numerator, std::uint64_t denominator, BinaryFormat format) {
    std::uint64_t n = numerator.mantissa, d = denominator;
    if (n == 0) return {0, format.least};
    int magnitude = bit_length(n) - bit_length(d);
    if (magnitude >= 0 ? n < d << magnitude : n << -magnitude < d) --magnitude;   // 2^magnitude <= n / d
    const int natural = numerator.exponent + magnitude - (format.precision - 1);
    const int exponent = natural > format.least ? natural : format.least;
    const int shift = numerator.exponent - exponent;
    if (shift < -32) return {0, format.least};   // less than half of the least number
    if (shift >= 0)
        n <<= shift;
    else
        d <<= -shift;
    const std::uint64_t quotient = n / d, twice = 2 * (n % d);
    return {quotient + (twice > d || (twice == d && quotient % 2 == 1)), exponent};
}

inline Exact round_to(Exact value, BinaryFormat format) { return round_quotient(value, 1, format); }

// Whether a rounded number lies past the format's largest.
inline bool overflows(Exact rounded, BinaryFormat format) {
    return bit_length(rounded.mantissa) + rounded.exponent > format.end;
}

// The word of a rounded number: a carry out of the fraction goes into the exponent field by itself.
inline std::uint32_t word_of(Exact rounded, BinaryFormat format) {
    const int field = rounded.exponent - format.least;
    return (static_cast<std::uint32_t>(field) << (format.precision - 1)) + static_cast<std::uint32_t>(rounded.mantissa);
}

// Exactly, for any rounded number of the formats above.
inline double to_double(Exact value) {
    const auto power = static_cast<std::uint64_t>(value.exponent + 1023) << 52;
    return static_cast<double>(value.mantissa) * __builtin_bit_cast(double, power);
}

}  // namespace
}  // namespace ninforge::verify
