#include "copies.h"

#include <algorithm>
#include <cstring>

#include "../prefetch.h"
#include "scale_tiles.h"

namespace ninforge::verify {
namespace {

std::uint64_t little_endian(const std::uint8_t* bytes, std::size_t count) {
    std::uint64_t word = 0;
    for (std::size_t i = count; i-- > 0;) word = word << 8 | bytes[i];
    return word;
}

// Whether the scales of 128 rows lie where they belong: swizzled_offset grows by 512 with every fourth g, by 16 with n up to
// 32, and by 4 with every 32 of n.
bool tiles_are_right(const std::uint8_t* natural, std::size_t groups, const std::uint8_t* stored) {
    const std::size_t band = 128 * groups;
    std::size_t done = 0;   // of these rows; as far into the next ones is asked for
    std::uint32_t different = 0;
    for (std::size_t n = 0; n < 32; n += 4) {
        for (std::size_t g = 0; g < groups; g += 4) {
            const std::uint8_t* line = stored + g / 4 * 512 + n * 16;   // 16 scales of each of four rows
            prefetch_early(natural, band + done);
            prefetch_early(stored, band + done);
            done += 64;
            for (std::size_t i = 0; i < 16; ++i) {
                std::uint32_t expected, found;
                std::memcpy(&expected, natural + (n + i / 4 + 32 * (i % 4)) * groups + g, sizeof(expected));
                std::memcpy(&found, line + 4 * i, sizeof(found));
                different |= expected ^ found;
            }
        }
    }
    return different == 0;
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
    for (std::size_t tiles = 0; tiles < rows; tiles += 128) {
        if (tiles_are_right(natural + tiles * groups, groups, stored + tiles * groups)) continue;
        for (std::size_t n = tiles; n < tiles + 128; ++n) {
            for (std::size_t g = 0; g < groups; ++g) {
                const std::uint8_t expected = natural[n * groups + g], found = stored[swizzled_offset(n, g, k)];
                if (expected != found) return Mismatch{PlaneName::kScales, n, g * 16, expected, found};
            }
        }
    }
    return std::nullopt;
}

}  // namespace ninforge::verify
