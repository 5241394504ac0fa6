// E4M3FN magnitudes (numeric-formats.md 3.3): their values, and which binary32 magnitudes are nearest to each.
#pragma once

#include <array>
#include <cstdint>

namespace ninforge::verify {

inline constexpr unsigned kE4m3fnNan = 0x7F;

constexpr double e4m3fn_value(unsigned magnitude) {
    const unsigned exponent = magnitude >> 3, fraction = magnitude & 7;
    if (exponent == 0) return static_cast<double>(fraction) * 0x1p-9;
    return static_cast<double>(8 + fraction) * static_cast<double>(1u << exponent) * 0x1p-10;
}

// The binary32 words, sign aside, whose values round to one code: nearest, a tie to the even code, everything past the
// largest number clamped to it. The NaN word has no such words: its interval is empty.
struct Interval {
    std::uint32_t first;
    std::uint32_t last;
};

constexpr std::array<double, 128> e4m3fn_values() {
    std::array<double, 128> values{};
    for (unsigned magnitude = 0; magnitude < kE4m3fnNan; ++magnitude) values[magnitude] = e4m3fn_value(magnitude);
    return values;
}

constexpr std::array<Interval, 128> e4m3fn_intervals() {
    std::array<Interval, 128> intervals{};
    std::uint32_t next = 0;
    for (unsigned code = 0; code < kE4m3fnNan; ++code) {
        std::uint32_t last = 0x7F7FFFFF;
        if (code + 1 < kE4m3fnNan) {
            const double middle = (e4m3fn_value(code) + e4m3fn_value(code + 1)) / 2;
            last = __builtin_bit_cast(std::uint32_t, static_cast<float>(middle)) - code % 2;
        }
        intervals[code] = {next, last};
        next = last + 1;
    }
    intervals[kE4m3fnNan] = {1, 0};
    return intervals;
}

inline constexpr std::array<double, 128> kE4m3fnValues = e4m3fn_values();
inline constexpr std::array<Interval, 128> kE4m3fnIntervals = e4m3fn_intervals();

}  // namespace ninforge::verify
