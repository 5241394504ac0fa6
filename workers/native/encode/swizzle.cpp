#include "swizzle.h"

#include <cstring>

namespace ninforge::encode {

void swizzle_scales(const std::uint8_t* scales, std::size_t rows, std::size_t k, std::uint8_t* out) {
    // Four scale words of consecutive groups stay together; such quads of 128 rows fill a tile of 512 bytes.
    constexpr std::size_t kQuad = 4, kTile = 512;
    const std::size_t quads = k / 64;
    for (std::size_t n = 0; n < rows; ++n) {
        std::uint8_t* row = out + n / 128 * quads * kTile + n % 32 * 16 + n % 128 / 32 * kQuad;
        for (std::size_t quad = 0; quad < quads; ++quad)
            std::memcpy(row + quad * kTile, scales + (n * quads + quad) * kQuad, kQuad);
    }
}

}  // namespace ninforge::encode
