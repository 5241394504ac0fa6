// Rows that a vector kernel has confirmed, and what it has measured of them.
#pragma once

#include <cstddef>

#include "../findings.h"
#include "vector_kernels.h"

namespace ninforge::verify {

struct Confirmed {
    std::size_t rows = 0;
    Derivation derivation;   // the statistics of those rows, where they were asked for
};

// What `kernel` confirms of `rows` rows; it takes where sums go, or null, and returns its number of rows.
template <class Kernel>
Confirmed confirm(std::size_t rows, bool statistics, Kernel kernel) {
    Confirmed confirmed;
    if (!statistics) {
        confirmed.rows = kernel(nullptr);
        return confirmed;
    }
    Derivation& derivation = confirmed.derivation;
    derivation.row_error.resize(rows);
    derivation.row_signal.resize(rows);
    ErrorSums sums{derivation.row_error.data(), derivation.row_signal.data(), 0.0};
    confirmed.rows = kernel(&sums);
    derivation.row_error.resize(confirmed.rows);
    derivation.row_signal.resize(confirmed.rows);
    derivation.max_abs = sums.max_abs;
    return confirmed;
}

}  // namespace ninforge::verify
