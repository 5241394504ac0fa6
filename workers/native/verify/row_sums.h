// Error statistics of rows over vectors, added in the order of statistics.h: element i of a row goes to partial sum
// i mod 8.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "vector_kernels.h"

namespace ninforge::verify {
namespace {

template <class Lanes>
class RowSums {
public:
    using Floats = typename Lanes::Floats;

    // Adds the elements from `first` on in a row, as many as Floats holds: what they decode to, and the source. The
    // difference of a decoded weight and a source word of 16 bits is a binary32 number: both are whole numbers of a unit
    // that goes into the larger of the two, and so into the difference, less than 2^24 times.
    template <class Word>
    void add(std::size_t first, Floats decoded, Floats source) {
        const Doubles x = Lanes::first_half(source), y = Lanes::second_half(source);
        if constexpr (sizeof(Word) == 2) {
            const Floats error = decoded - source;
            largest_float_ = Lanes::larger((Floats)((Integers)error & 0x7FFFFFFF), largest_float_);
            add_half(first, Lanes::first_half(error), x);
            add_half(first + kDoubles, Lanes::second_half(error), y);
        } else {
            const Doubles error = Lanes::first_half(decoded) - x, second = Lanes::second_half(decoded) - y;
            largest_ = Lanes::larger(absolute(error), Lanes::larger(absolute(second), largest_));
            add_half(first, error, x);
            add_half(first + kDoubles, second, y);
        }
    }

    // Ends a row.
    void close(std::size_t row, ErrorSums& sums) {
        sums.row_error[row] = total(error_);
        sums.row_signal[row] = total(signal_);
        double wide[kDoubles];
        float narrow[2 * kDoubles];
        std::memcpy(wide, &largest_, sizeof(wide));
        std::memcpy(narrow, &largest_float_, sizeof(narrow));
        for (const double error : wide) sums.max_abs = error > sums.max_abs ? error : sums.max_abs;
        for (const double error : narrow) sums.max_abs = error > sums.max_abs ? error : sums.max_abs;
        *this = RowSums{};
    }

private:
    using Doubles = typename Lanes::Doubles;
    using Integers = typename Lanes::Integers;
    static constexpr std::size_t kPartials = 8, kDoubles = sizeof(Doubles) / sizeof(double);

    static Doubles absolute(Doubles values) { return (Doubles)((typename Lanes::Longs)values & INT64_MAX); }

    void add_half(std::size_t first, Doubles error, Doubles source) {
        const std::size_t at = first % kPartials / kDoubles;
        error_[at] += error * error;
        signal_[at] += source * source;
    }

    static double total(const Doubles* partials) {
        double s[kPartials];
        std::memcpy(s, partials, sizeof(s));
        return ((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7]));
    }

    Doubles error_[kPartials / kDoubles] = {};
    Doubles signal_[kPartials / kDoubles] = {};
    Doubles largest_{};
    Floats largest_float_{};
};

}  // namespace
}  // namespace ninforge::verify
