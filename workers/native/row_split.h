// Geometry of row-split-k128-v1 (storage-layouts.md): sizes only, shared by the encoder, the verifier and the border.
#pragma once

#include <cstddef>

namespace ninforge {

// Sizes of one row of K elements. Every base group has 32 bytes, whatever the code width.
struct RowSplit {
    std::size_t group;         // elements a group
    std::size_t groups;        // physical groups a row
    std::size_t high_bytes;    // bytes a group in the high plane

    static constexpr std::size_t kBaseBytes = 32;
    static constexpr std::size_t kScaleBytes = 2;

    static constexpr RowSplit of(int code_bits, std::size_t k) {
        const std::size_t group = code_bits == 8 ? 32 : 64;
        const std::size_t high = code_bits == 5 ? 8 : code_bits == 6 ? 16 : 0;
        return {group, (k + 127) / 128 * 128 / group, high};
    }

    constexpr std::size_t code_row() const { return groups * kBaseBytes; }
    constexpr std::size_t high_row() const { return groups * high_bytes; }
    constexpr std::size_t scale_row() const { return groups * kScaleBytes; }
};

}  // namespace ninforge
