// Comparison of words that the artifact only carries: in their own order, and swizzled (storage-layouts.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "../findings.h"

namespace ninforge::verify {

// The first word that differs. Rows have `columns` words of `word_bytes` bytes, little-endian.
std::optional<Mismatch> compare_words(const std::uint8_t* expected, const std::uint8_t* found, std::size_t bytes,
                                      std::size_t word_bytes, std::size_t columns);

// The first scale word, in the order of natural [rows, k/16], that is not where blockscale-k16-m128x4-v1 puts it.
std::optional<Mismatch> compare_swizzled(const std::uint8_t* natural, std::size_t rows, std::size_t k,
                                         const std::uint8_t* stored);

}  // namespace ninforge::verify
