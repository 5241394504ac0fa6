// Error statistics of lossy rows, summed in one fixed order whatever the instruction set: element i of a row goes to
// partial sum i mod 8, and the partial sums are added pairwise.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "../findings.h"

namespace ninforge::verify {

class RowStatistics {
public:
    static constexpr std::size_t kPartials = 8;

    // Adds `count` elements, a multiple of kPartials: what the row decodes to and what the source says.
    void add(const double* decoded, const double* source, std::size_t count) {
        for (std::size_t j = 0; j < kPartials; j += 2) {
            Pair error_sum = error_[j / 2], signal_sum = signal_[j / 2], largest = largest_[j / 2];
            for (std::size_t i = j; i < count; i += kPartials) {
                Pair signal, error;
                std::memcpy(&signal, source + i, sizeof(signal));
                std::memcpy(&error, decoded + i, sizeof(error));
                error -= signal;
                error_sum += error * error;
                signal_sum += signal * signal;
                const Pair absolute = error < 0.0 ? -error : error;
                largest = absolute > largest ? absolute : largest;
            }
            error_[j / 2] = error_sum;
            signal_[j / 2] = signal_sum;
            largest_[j / 2] = largest;
        }
    }

    // Ends the row: its sums go to the derivation.
    void close(Derivation& derivation) {
        for (const Pair largest : largest_)
            derivation.max_abs = std::max({derivation.max_abs, largest[0], largest[1]});
        derivation.row_error.push_back(total(error_));
        derivation.row_signal.push_back(total(signal_));
        *this = RowStatistics{};
    }

private:
    // Two binary64 numbers side by side; an operator works on each.
    using Pair = double __attribute__((vector_size(2 * sizeof(double))));

    static double total(const Pair* s) {
        const Pair sums = (s[0] + s[2]) + (s[1] + s[3]);
        return sums[0] + sums[1];
    }

    Pair error_[kPartials / 2] = {};
    Pair signal_[kPartials / 2] = {};
    Pair largest_[kPartials / 2] = {};
};

}  // namespace ninforge::verify
