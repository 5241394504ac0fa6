// The scale plane of blockscale-k16-m128x4-v1 (storage-layouts.md).
#pragma once

#include <cstddef>
#include <cstdint>

namespace ninforge::encode {

// Writes natural [rows, k/16] scale words in swizzled order. rows is a multiple of 128, k of 64.
void swizzle_scales(const std::uint8_t* scales, std::size_t rows, std::size_t k, std::uint8_t* out);

}  // namespace ninforge::encode
