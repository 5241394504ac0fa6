// The verifier's derivation of the four grouped formats (numeric-formats.md 5 to 7, storage-layouts.md).
#pragma once

#include <cstddef>
#include <cstdint>

#include "../dtypes.h"
#include "../findings.h"

namespace ninforge::verify {

// The stored planes of a block of rows; `high` is unused at 4 and 8 bits.
struct StoredPlanes {
    const std::uint8_t* codes;
    const std::uint8_t* high;
    const std::uint8_t* scales;
};

// Compares every scale, code, high bit and padding lane with what the source words give. Goes through the rows group by
// group, scale before codes, and ends at the first mismatch, or at the first group that has no scale.
Derivation derive_grouped(const std::uint8_t* source, Dtype dtype, int code_bits, std::size_t rows, std::size_t k,
                          StoredPlanes stored, bool statistics);

}  // namespace ninforge::verify
