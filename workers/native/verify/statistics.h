// Error statistics of lossy rows, summed in one fixed order whatever the instruction set: element i of a row goes to
// partial sum i mod 8, and the partial sums are added pairwise.
#pragma once

#include <cstddef>
#include <cstring>

#include "../findings.h"

namespace ninforge::verify {

class RowStatistics {
public:
    static constexpr std::size_t kPartials = 8;

    // Adds `count` elements, a multiple of kPartials: what the row decodes to and what the source says.
    void add(const double* decoded, const double* source, std::size_t count) {
        Partials error_sum = error_, signal_sum = signal_, largest = largest_;
        for (std::size_t i = 0; i < count; i += kPartials) {
            Partials signal, error;
            std::memcpy(&signal, source + i, sizeof(signal));
            std::memcpy(&error, decoded + i, sizeof(error));
            error -= signal;
            error_sum += error * error;
            signal_sum += signal * signal;
            const Partials absolute = error < 0.0 ? -error : error;
            largest = absolute > largest ? absolute : largest;
        }
        error_ = error_sum;
        signal_ = signal_sum;
        largest_ = largest;
    }

    // Ends the row: its sums go to the derivation.
    void close(Derivation& derivation) {
        for (std::size_t j = 0; j < kPartials; ++j)
            if (largest_[j] > derivation.max_abs) derivation.max_abs = largest_[j];
        derivation.row_error.push_back(total(error_));
        derivation.row_signal.push_back(total(signal_));
        *this = RowStatistics{};
    }

private:
    // As many binary64 numbers side by side; an operator works on each.
    using Partials = double __attribute__((vector_size(kPartials * sizeof(double))));

    static double total(const Partials& s) { return ((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7])); }

    Partials error_{};
    Partials signal_{};
    Partials largest_{};
};

}  // namespace ninforge::verify
