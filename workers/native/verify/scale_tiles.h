// Where blockscale-k16-m128x4-v1 keeps the scale words of a matrix (storage-layouts.md).
#pragma once

#include <cstddef>

namespace ninforge::verify {

// Byte of the scale plane that holds the scale of row n and group g, as the formula of the document says.
constexpr std::size_t swizzled_offset(std::size_t n, std::size_t g, std::size_t k) {
    return ((n / 128) * (k / 64) + g / 4) * 512 + (n % 32) * 16 + ((n % 128) / 32) * 4 + g % 4;
}

}  // namespace ninforge::verify
