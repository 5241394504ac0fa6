// What the kernels find and hand to Python as data: faults of words, and mismatches between planes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace ninforge {

enum class FaultKind {
    kNonFinite,
    kScaleOverflow,
    kRowTooSmall,
    kNegativeScale,
    kNegativeZeroScale,
    kNanScale,
    kInfiniteScale,
    kCodeUnderZeroScale,
    kCodeOutOfRange,
    kNanCode,
    kNonzeroPadding,
    kNotExact,
    kOutOfRange,
    kFractional,
    kOverflow,
    kNotPositive,
};

// A word that breaks a rule. `row` counts from the first row of the block, `column` elements within the row.
struct Fault {
    FaultKind kind;
    std::size_t row;
    std::size_t column;
    std::uint64_t word;
};

enum class PlaneName { kCodes, kHigh, kScales, kWords };

// A stored word that is not the one that the source gives.
struct Mismatch {
    PlaneName plane;
    std::size_t row;
    std::size_t column;
    std::uint64_t expected;
    std::uint64_t found;
};

// What a second derivation says of a block of rows. The statistics are filled only where they were asked for and
// neither a fault nor a mismatch ended the comparison.
struct Derivation {
    std::optional<Mismatch> mismatch;
    std::optional<Fault> fault;
    double max_abs = 0.0;
    std::vector<double> row_error;
    std::vector<double> row_signal;
};

}  // namespace ninforge
