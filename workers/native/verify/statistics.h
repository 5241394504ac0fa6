// Error statistics of lossy rows, summed in one fixed order whatever the instruction set: element i of a row goes to
// partial sum i mod 8, and the partial sums are added pairwise.
#pragma once

#include <cstddef>

#include "../findings.h"

namespace ninforge::verify {

class RowStatistics {
public:
    static constexpr std::size_t kPartials = 8;

    // Adds kPartials elements: what the row decodes to and what the source says.
    void add(const double* decoded, const double* source) {
        for (std::size_t j = 0; j < kPartials; ++j) {
            const double error = decoded[j] - source[j];
            const double absolute = error < 0.0 ? -error : error;
            error_[j] += error * error;
            signal_[j] += source[j] * source[j];
            largest_[j] = absolute > largest_[j] ? absolute : largest_[j];
        }
    }

    // Ends the row: its sums go to the derivation.
    void close(Derivation& derivation) {
        for (const double largest : largest_)
            if (largest > derivation.max_abs) derivation.max_abs = largest;
        derivation.row_error.push_back(total(error_));
        derivation.row_signal.push_back(total(signal_));
        *this = RowStatistics{};
    }

private:
    static double total(const double* s) { return ((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7])); }

    double error_[kPartials] = {};
    double signal_[kPartials] = {};
    double largest_[kPartials] = {};
};

}  // namespace ninforge::verify
