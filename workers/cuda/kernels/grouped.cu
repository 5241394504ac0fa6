// Encoder profile MAXABS_F16_RECIP_RNE_V1 into planes of row-split-k128-v1 (storage-layouts.md).
//
// A group of 64 elements is eight neighbouring lanes of a warp, one of 32 elements four: each takes an octet, they agree
// on the largest magnitude, and each makes the group's scale for itself, which costs less than handing it around. An
// octet's part of the planes follows from its number alone: 4 bytes of base codes (8 at 8 bits) and kBits - 4 high ones.
#include "encoder.h"
#include "octets.cuh"

namespace ninforge::cuda {

template <class Source, int kBits>
__device__ __forceinline__ void encode_octet(const u8* source, u32 rows, u32 k, u8* codes, u8* high, u8* scales,
                                             u64* first_refused) {
    using namespace encode;
    using Word = typename Source::Word;
    constexpr u32 kLanes = Grouped<kBits>::kGroup / kOctet;
    const u32 octets = (k + 127) / 128 * (128 / kOctet);   // a row's
    const u32 octet = blockIdx.x * blockDim.x + threadIdx.x;
    const u32 row = octet / octets;

    Word words[kOctet] = {};
    if (row < rows) load_octet(source, row, octet % octets * kOctet, k, words);
    const i32 largest = largest_of_lanes<kLanes>(largest_magnitude<Source>(words, kOctet));
    if (row >= rows) return;

    const u32 group = octet / kLanes;
    const bool leads = octet % kLanes == 0;
    const bool finite = largest < Source::kNonFinite;
    const GroupScale chosen = group_scale<kBits>(finite ? Source::widen(static_cast<u32>(largest)) : 0.0f);
    if (!finite || chosen.word == 0x7C00) {
        if (leads) report(first_refused, group, Finding::kRefused);
        return;
    }
    if (leads) reinterpret_cast<u16*>(scales)[group] = static_cast<u16>(chosen.word);

    u32 base[2] = {};
    u32 above = 0;
    for (u32 i = 0; i < kOctet; ++i) {
        const u32 code = grouped_code<kBits>(Source::widen(words[i]), chosen.inverse);
        if constexpr (kBits == 8) {
            base[i / 4] |= code << (8 * (i % 4));
        } else {
            base[0] |= (code & 15) << (4 * i);
            above |= code >> 4 << ((kBits - 4) * i);
        }
    }
    if constexpr (kBits == 8)
        reinterpret_cast<uint2*>(codes)[octet] = {base[0], base[1]};
    else
        reinterpret_cast<u32*>(codes)[octet] = base[0];
    if constexpr (kBits == 5) high[octet] = static_cast<u8>(above);
    if constexpr (kBits == 6) reinterpret_cast<u16*>(high)[octet] = static_cast<u16>(above);
}

}  // namespace ninforge::cuda

// One thread an octet of [rows, K padded to 128]. `first_refused` comes as all ones and leaves as octets.cuh says, by
// groups in row-major order; the planes are then undefined.
#define NINFORGE_ENCODE_GROUPED(bits, dtype, Source)                                                               \
    extern "C" __global__ void __launch_bounds__(256) encode_grouped_##bits##_##dtype(                             \
        const unsigned char* __restrict__ source, unsigned int rows, unsigned int k, unsigned char* codes,         \
        unsigned char* high, unsigned char* scales, unsigned long long* first_refused) {                           \
        ninforge::cuda::encode_octet<ninforge::encode::Source, bits>(source, rows, k, codes, high, scales,         \
                                                                     first_refused);                               \
    }
#define NINFORGE_ENCODE_GROUPED_FROM(dtype, Source) \
    NINFORGE_ENCODE_GROUPED(4, dtype, Source)       \
    NINFORGE_ENCODE_GROUPED(5, dtype, Source)       \
    NINFORGE_ENCODE_GROUPED(6, dtype, Source)       \
    NINFORGE_ENCODE_GROUPED(8, dtype, Source)

NINFORGE_ENCODE_GROUPED_FROM(bf16, Bf16)
NINFORGE_ENCODE_GROUPED_FROM(f16, F16)
NINFORGE_ENCODE_GROUPED_FROM(f32, F32)
