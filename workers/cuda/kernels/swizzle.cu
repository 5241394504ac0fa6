// The scale plane of blockscale-k16-m128x4-v1 (storage-layouts.md) from natural [rows, k/16] order.
#include "octets.cuh"

// One thread 16 bytes of the result: four scale words each of rows n, n + 32, n + 64 and n + 96 of a tile of 128 rows.
// A warp writes one tile of 512 bytes. rows is a multiple of 128, k of 64; both buffers begin at a multiple of 16 bytes.
extern "C" __global__ void __launch_bounds__(256)
    swizzle_scales(const unsigned char* __restrict__ scales, unsigned int rows, unsigned int k, unsigned char* out) {
    using namespace ninforge::cuda;
    const u32 quads = k / 64;   // of a row, four scale words each
    const u32 unit = blockIdx.x * blockDim.x + threadIdx.x;
    const u32 tile = unit / 32;
    const u32 row = tile / quads * 128 + unit % 32;
    if (row >= rows) return;
    const u32* column = reinterpret_cast<const u32*>(scales) + tile % quads;
    u32 parts[4];
    for (u32 i = 0; i < 4; ++i) parts[i] = column[static_cast<u64>(row + 32 * i) * quads];
    reinterpret_cast<uint4*>(out)[unit] = {parts[0], parts[1], parts[2], parts[3]};
}
