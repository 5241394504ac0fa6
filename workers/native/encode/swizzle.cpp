#include "swizzle.h"

#include <cstring>

#include "../prefetch.h"

namespace ninforge::encode {

namespace {

// Four scale words of consecutive groups stay together. Such quads of 128 rows fill a tile of 512 bytes, those of rows n,
// n + 32, n + 64 and n + 96 side by side; tiles follow one another along the rows.
constexpr std::size_t kQuad = 4, kTile = 512, kTileRows = 128, kApart = 32;

// Four quads of a row and of the rows 32, 64 and 96 below it, `stride` bytes long, go to four tiles: in each, the quads of
// the four rows lie side by side.
void swizzle_four(const std::uint8_t* scales, std::size_t stride, std::uint8_t* tiles) {
    constexpr std::uint64_t kLow = 0xFFFFFFFF;
    std::uint64_t quads[4][2];   // of each row, two and two
    for (std::size_t i = 0; i < 4; ++i) std::memcpy(quads[i], scales + i * kApart * stride, sizeof(quads[i]));
    for (std::size_t pair = 0; pair < 2; ++pair) {
        std::uint64_t even[2], odd[2];
        for (std::size_t i = 0; i < 2; ++i) {
            const std::uint64_t upper = quads[2 * i][pair], lower = quads[2 * i + 1][pair];
            even[i] = (upper & kLow) | lower << 32;
            odd[i] = upper >> 32 | (lower & ~kLow);
        }
        std::memcpy(tiles + 2 * pair * kTile, even, sizeof(even));
        std::memcpy(tiles + (2 * pair + 1) * kTile, odd, sizeof(odd));
    }
}

void swizzle_one(const std::uint8_t* scales, std::size_t stride, std::uint8_t* tile) {
    for (std::size_t i = 0; i < 4; ++i) std::memcpy(tile + i * kQuad, scales + i * kApart * stride, kQuad);
}

}  // namespace

void swizzle_scales(const std::uint8_t* scales, std::size_t rows, std::size_t k, std::uint8_t* out) {
    constexpr std::size_t kLine = 4;   // rows whose quads fill 64 bytes of a tile
    const std::size_t quads = k / 64, stride = quads * kQuad, band = kTileRows * stride;
    for (std::size_t row = 0; row < rows; row += kTileRows) {
        const std::uint8_t* scales_of_rows = scales + row * stride;
        std::uint8_t* tiles = out + row * stride;
        std::size_t done = 0;   // of this band of rows; as far into the next one is asked for
        for (std::size_t n = 0; n < kApart; n += kLine) {
            const std::uint8_t* from = scales_of_rows + n * stride;
            std::uint8_t* to = tiles + n * 16;
            std::size_t quad = 0;
            for (; quad + 4 <= quads; quad += 4) {
                for (std::size_t i = 0; i < kLine; ++i, done += 64) {
                    prefetch_early(scales_of_rows, band + done);
                    prefetch_early(tiles, band + done);
                    swizzle_four(from + i * stride + quad * kQuad, stride, to + i * 16 + quad * kTile);
                }
            }
            for (; quad < quads; ++quad)
                for (std::size_t i = 0; i < kLine; ++i)
                    swizzle_one(from + i * stride + quad * kQuad, stride, to + i * 16 + quad * kTile);
        }
    }
}

}  // namespace ninforge::encode
