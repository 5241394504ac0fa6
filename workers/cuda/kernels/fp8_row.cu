// Encoder profile FP8_ROW_MAXABS_RECIP_RNE_V1 (targets.md) into planes of row-scale-v1.
//
// One block a row: its threads find the largest magnitude, then go through the row again, which is still in cache.
#include "octets.cuh"

namespace ninforge::cuda {

// Codes `column` to `column` + 7 of a row of k, as far as the row goes.
__device__ __forceinline__ void store_octet(u8* matrix, u32 row, u32 column, u32 k, const u8 (&codes)[kOctet]) {
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

template <class Source>
__device__ __forceinline__ void encode_row(const u8* source, u32 k, u8* codes, u8* scales, u64* first_refused) {
    using namespace encode;
    using Word = typename Source::Word;
    const u32 row = blockIdx.x;
    const bool leads = threadIdx.x == 0;

    i32 largest = 0;
    for (u32 column = threadIdx.x * kOctet; column < k; column += kThreads * kOctet) {
        Word words[kOctet];
        load_octet(source, row, column, k, words);
        const i32 of_octet = largest_magnitude<Source>(words, kOctet);
        largest = of_octet > largest ? of_octet : largest;
    }
    largest = largest_of_block(largest);

    if (largest >= Source::kBf16Overflow) {
        if (leads) report(first_refused, row, static_cast<u32>(Finding::kNonFinite));
        return;
    }
    const float amax = Source::round_to_bf16(static_cast<u32>(largest));
    const bool zero = amax == 0.0f;
    const RowScale chosen = zero ? RowScale{0, 0.0f} : row_scale(amax);
    if (!is_finite(chosen.inverse)) {
        if (leads) report(first_refused, row, static_cast<u32>(Finding::kRowTooSmall));
        return;
    }
    if (leads) reinterpret_cast<u16*>(scales)[row] = static_cast<u16>(chosen.word);
    for (u32 column = threadIdx.x * kOctet; column < k; column += kThreads * kOctet) {
        Word words[kOctet];
        load_octet(source, row, column, k, words);
        u8 made[kOctet];
        for (u32 i = 0; i < kOctet; ++i)
            made[i] = zero ? u8{0} : fp8_code(Source::round_to_bf16(words[i]), chosen.inverse);
        store_octet(codes, row, column, k, made);
    }
}

}  // namespace ninforge::cuda

// One block a row. `first_refused` comes as all ones and leaves as octets.cuh says, by rows; the planes are then
// undefined.
#define NINFORGE_ENCODE_FP8_ROW(dtype, Source)                                                                     \
    extern "C" __global__ void __launch_bounds__(256) encode_fp8_row_##dtype(                                      \
        const unsigned char* __restrict__ source, unsigned int k, unsigned char* codes, unsigned char* scales,     \
        unsigned long long* first_refused) {                                                                       \
        ninforge::cuda::encode_row<ninforge::encode::Source>(source, k, codes, scales, first_refused);             \
    }

NINFORGE_ENCODE_FP8_ROW(bf16, Bf16)
NINFORGE_ENCODE_FP8_ROW(f16, F16)
NINFORGE_ENCODE_FP8_ROW(f32, F32)
