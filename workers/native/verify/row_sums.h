// Error statistics of rows over vectors, added in the order of statistics.h: element i of a row goes to partial sum
// i mod 8.
#pragma once

#include <cstddef>
#include <cstring>

#include "vector_kernels.h"

namespace ninforge::verify {
namespace {

template <class Lanes>
class RowSums {
public:
    // Adds the elements from `first` on in a row, as many as Floats holds: what they decode to, and the source.
    void add(std::size_t first, typename Lanes::Floats decoded, typename Lanes::Floats source) {
        add_half(first, Lanes::first_half(decoded), Lanes::first_half(source));
        add_half(first + kDoubles, Lanes::second_half(decoded), Lanes::second_half(source));
    }

    // Ends a row.
    void close(std::size_t row, ErrorSums& sums) {
        sums.row_error[row] = total(error_);
        sums.row_signal[row] = total(signal_);
        double largest[kPartials];
        std::memcpy(largest, largest_, sizeof(largest));
        for (const double error : largest) sums.max_abs = error > sums.max_abs ? error : sums.max_abs;
        *this = RowSums{};
    }

private:
    using Doubles = typename Lanes::Doubles;
    static constexpr std::size_t kPartials = 8, kDoubles = sizeof(Doubles) / sizeof(double);

    void add_half(std::size_t first, Doubles decoded, Doubles source) {
        const std::size_t at = first % kPartials / kDoubles;
        const Doubles error = decoded - source;
        const Doubles absolute = error < 0.0 ? -error : error;
        error_[at] += error * error;
        signal_[at] += source * source;
        largest_[at] = absolute > largest_[at] ? absolute : largest_[at];
    }

    static double total(const Doubles* partials) {
        double s[kPartials];
        std::memcpy(s, partials, sizeof(s));
        return ((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7]));
    }

    Doubles error_[kPartials / kDoubles] = {};
    Doubles signal_[kPartials / kDoubles] = {};
    Doubles largest_[kPartials / kDoubles] = {};
};

}  // namespace
}  // namespace ninforge::verify
