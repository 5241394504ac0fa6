// Whether stored words are words of their format and padding is what the layout says, without any source
// (numeric-formats.md 3.3, 3.4, 5 and 6; storage-layouts.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "../findings.h"
#include "grouped.h"

namespace ninforge::verify {

// The first illegal word: group by group, the scale before the codes.
std::optional<Fault> legal_grouped(int code_bits, std::size_t rows, std::size_t k, StoredPlanes stored);

// The first illegal word: row by row, the multiplier before the codes.
std::optional<Fault> legal_fp8_row(std::size_t rows, std::size_t k, const std::uint8_t* codes,
                                   const std::uint8_t* scales);

// The first illegal E4M3FN scale word in the order of natural [rows, k/16], wherever it is stored.
std::optional<Fault> legal_nvfp4_scales(const std::uint8_t* scales, std::size_t rows, std::size_t k, bool swizzled);

}  // namespace ninforge::verify
