// What all kernels share: a thread takes an octet, eight consecutive elements of a row. Its words are 16 or 32 bytes of
// source, so that neighbouring threads read and write neighbouring memory in few and wide accesses.
//
// Compiled by NVRTC for devices, and by a host compiler for the tests, which run every thread of grid and block.
#pragma once

namespace ninforge::cuda {

using u8 = unsigned char;
using u16 = unsigned short;
using i32 = int;
using u32 = unsigned int;
using u64 = unsigned long long;

constexpr u32 kOctet = 8;
constexpr u32 kWarp = 32;
constexpr u32 kAllLanes = 0xFFFFFFFF;

// Most threads of a block; the host launches whole warps, no more than this.
constexpr u32 kThreads = 256;

// What is wrong with a group or row: its source words, which an encoder refuses, or one of its stored words.
enum class Finding : u32 { kNone, kRefused, kWrongScale, kWrongCode };

// A kernel leaves the first group or row that something is wrong with as its number times this, plus the finding.
constexpr u64 kFindings = 4;

__device__ __forceinline__ void report(u64* first, u64 number, Finding finding) {
    atomicMin(first, number * kFindings + static_cast<u32>(finding));
}

// Words `column` to `column` + 7 of a row of k; zeros past its end. The matrix begins at a multiple of 16 bytes, and so
// does every octet if k is a multiple of 8.
template <class Word>
__device__ __forceinline__ void load_octet(const u8* matrix, u32 row, u32 column, u32 k, Word (&words)[kOctet]) {
    const u8* at = matrix + (static_cast<u64>(row) * k + column) * sizeof(Word);
    for (u32 i = 0; i < kOctet; ++i) words[i] = 0;
    if (k % kOctet == 0) {
        if (column >= k) return;
        constexpr u32 kPerWord = 4 / sizeof(Word);
        for (u32 v = 0; v < sizeof(words) / 16; ++v) {
            const uint4 vector = reinterpret_cast<const uint4*>(at)[v];
            const u32 parts[4] = {vector.x, vector.y, vector.z, vector.w};
            for (u32 i = 0; i < 4 * kPerWord; ++i)
                words[4 * kPerWord * v + i] =
                    static_cast<Word>(parts[i / kPerWord] >> (8 * sizeof(Word) * (i % kPerWord)));
        }
    } else {
        for (u32 i = 0; i < kOctet; ++i)
            if (column + i < k) words[i] = reinterpret_cast<const Word*>(at)[i];
    }
}

// One-byte codes `column` to `column` + 7 of a row of k, of a matrix that begins at a multiple of 8 bytes; zeros past its
// end, of which none are stored.
__device__ __forceinline__ void load_codes(const u8* matrix, u32 row, u32 column, u32 k, u8 (&codes)[kOctet]) {
    const u8* at = matrix + static_cast<u64>(row) * k + column;
    if (k % kOctet == 0) {
        const uint2 vector = *reinterpret_cast<const uint2*>(at);
        for (u32 i = 0; i < kOctet; ++i) codes[i] = static_cast<u8>((i < 4 ? vector.x : vector.y) >> (8 * (i % 4)));
    } else {
        for (u32 i = 0; i < kOctet; ++i) codes[i] = column + i < k ? at[i] : u8{0};
    }
}

__device__ __forceinline__ void store_codes(u8* matrix, u32 row, u32 column, u32 k, const u8 (&codes)[kOctet]) {
    u8* at = matrix + static_cast<u64>(row) * k + column;
    if (k % kOctet == 0) {
        u32 parts[2] = {};
        for (u32 i = 0; i < kOctet; ++i) parts[i / 4] |= static_cast<u32>(codes[i]) << (8 * (i % 4));
        *reinterpret_cast<uint2*>(at) = {parts[0], parts[1]};
    } else {
        for (u32 i = 0; i < kOctet; ++i)
            if (column + i < k) at[i] = codes[i];
    }
}

// The largest value of each aligned run of kLanes lanes, in all of them. Every lane of the warp takes part.
template <u32 kLanes>
__device__ __forceinline__ i32 largest_of_lanes(i32 value) {
    for (u32 step = kLanes / 2; step > 0; step /= 2) {
        const i32 other = __shfl_xor_sync(kAllLanes, value, static_cast<int>(step));
        value = other > value ? other : value;
    }
    return value;
}

// The largest value of the block's threads, in all of them. Once in a kernel.
__device__ __forceinline__ i32 largest_of_block(i32 value) {
    __shared__ i32 of_warp[kThreads / kWarp];
    value = largest_of_lanes<kWarp>(value);
    if (threadIdx.x % kWarp == 0) of_warp[threadIdx.x / kWarp] = value;
    __syncthreads();
    for (u32 warp = 0; warp < blockDim.x / kWarp; ++warp) value = of_warp[warp] > value ? of_warp[warp] : value;
    return value;
}

}  // namespace ninforge::cuda
