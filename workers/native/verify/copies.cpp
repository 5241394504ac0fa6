#include "copies.h"

#include <algorithm>
#include <cstring>

#include "scale_tiles.h"

namespace ninforge::verify {
namespace {

std::uint64_t little_endian(const std::uint8_t* bytes, std::size_t count) {
    std::uint64_t word = 0;
    for (std::size_t i = count; i-- > 0;) word = word << 8 | bytes[i];
    return word;
}

}  // namespace

std::optional<Mismatch> compare_words(const std::uint8_t* expected, const std::uint8_t* found, std::size_t bytes,
                                      std::size_t word_bytes, std::size_t columns) {
    if (std::memcmp(expected, found, bytes) == 0) return std::nullopt;
    const auto byte = static_cast<std::size_t>(std::mismatch(expected, expected + bytes, found).first - expected);
    const std::size_t index = byte / word_bytes, start = index * word_bytes;
    return Mismatch{PlaneName::kWords, index / columns, index % columns, little_endian(expected + start, word_bytes),
                    little_endian(found + start, word_bytes)};
}

std::optional<Mismatch> compare_swizzled(const std::uint8_t* natural, std::size_t rows, std::size_t k,
                                         const std::uint8_t* stored) {
    const std::size_t groups = k / 16;
    for (std::size_t n = 0; n < rows; ++n) {
        const std::uint8_t* row = natural + n * groups;
        bool right = true;
        for (std::size_t g = 0; g < groups; g += 4)
            right &= std::memcmp(row + g, stored + swizzled_offset(n, g, k), 4) == 0;
        if (right) continue;
        std::size_t g = 0;
        while (row[g] == stored[swizzled_offset(n, g, k)]) ++g;
        return Mismatch{PlaneName::kScales, n, g * 16, row[g], stored[swizzled_offset(n, g, k)]};
    }
    return std::nullopt;
}

}  // namespace ninforge::verify
