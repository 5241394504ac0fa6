// The verifier's derivation of FP8_E4M3FN_ROW_BF16S (numeric-formats.md 3.4) by the profile of targets.md.
#pragma once

#include <cstddef>
#include <cstdint>

#include "../dtypes.h"
#include "../findings.h"

namespace ninforge::verify {

// Compares every multiplier and code with what the source words give, row by row, the multiplier before the codes. Ends
// at the first mismatch, or at the first row that has no multiplier.
Derivation derive_fp8_row(const std::uint8_t* source, Dtype dtype, std::size_t rows, std::size_t k,
                          const std::uint8_t* codes, const std::uint8_t* scales, bool statistics);

}  // namespace ninforge::verify
