// Encoder profile FP8_ROW_MAXABS_RECIP_RNE_V1 (targets.md) into planes of row-scale-v1.
//
// One block a row: its threads find the largest magnitude, then go through the row again, which is still in cache.
#include "encoder.h"
#include "octets.cuh"

namespace ninforge::cuda {

template <class Source>
__device__ __forceinline__ void encode_row(const u8* source, u32 k, u8* codes, u8* scales, u64* first_refused) {
    using namespace encode;
    using Word = typename Source::Word;
    const u32 row = blockIdx.x;
    const bool leads = threadIdx.x == 0;

    i32 largest = 0;
    for (u32 column = threadIdx.x * kOctet; column < k; column += blockDim.x * kOctet) {
        Word words[kOctet];
        load_octet(source, row, column, k, words);
        const i32 of_octet = largest_magnitude<Source>(words, kOctet);
        largest = of_octet > largest ? of_octet : largest;
    }
    largest = largest_of_block(largest);

    const bool finite = largest < Source::kBf16Overflow;
    const float amax = finite ? Source::round_to_bf16(static_cast<u32>(largest)) : 0.0f;
    const bool zero = amax == 0.0f;
    const RowScale chosen = zero ? RowScale{0, 0.0f} : row_scale(amax);
    if (!finite || !is_finite(chosen.inverse)) {
        if (leads) report(first_refused, row, Finding::kRefused);
        return;
    }
    if (leads) reinterpret_cast<u16*>(scales)[row] = static_cast<u16>(chosen.word);
    for (u32 column = threadIdx.x * kOctet; column < k; column += blockDim.x * kOctet) {
        Word words[kOctet];
        load_octet(source, row, column, k, words);
        u8 made[kOctet];
        for (u32 i = 0; i < kOctet; ++i)
            made[i] = zero ? u8{0} : fp8_code(Source::round_to_bf16(words[i]), chosen.inverse);
        store_codes(codes, row, column, k, made);
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
