// Decodes planes of row-scale-v1 and compares them with their source: every multiplier and code.
//
// The verifier's arithmetic, in integers and exact binary64: nothing here comes from the encoder. Threads share the work
// as they do in fp8_row.cu.
#include "e4m3fn.h"
#include "octets.cuh"
#include "source_words.h"

namespace ninforge::cuda {

struct RowScale {
    u32 word;
    double inverse;
    bool too_small;
};

// Multiplier and reciprocal of a row (targets.md).
__device__ __forceinline__ RowScale derive_scale(verify::Exact amax) {
    using namespace verify;
    if (amax.mantissa == 0) return {0, 0.0, false};
    Exact scale = round_to(round_quotient(amax, 448, kBinary32), kBfloat16);
    if (scale.mantissa == 0) scale = {1, kBfloat16.least};
    const Exact inverse = round_quotient({1, -scale.exponent}, scale.mantissa, kBinary32);
    const u32 word = word_of(scale, kBfloat16);
    return overflows(inverse, kBinary32) ? RowScale{word, 0.0, true} : RowScale{word, to_double(inverse), false};
}

// The BF16 word nearest to a finite source word.
template <class Words>
__device__ __forceinline__ u32 bf16_of(typename Words::Word word) {
    return verify::nearest_bf16(__builtin_bit_cast(u32, static_cast<float>(Words::value(word))));
}

// Whether `code` is the code of a BF16 word: its sign, and the interval in which round_f32(x * inverse) lies. The product
// of two binary32 numbers is exact in binary64, so its conversion is the one rounding.
__device__ __forceinline__ bool is_code(u32 bf16, double inverse, u32 code) {
    const double x = verify::Bf16Words::value(static_cast<u16>(bf16));
    const auto normalized = __builtin_bit_cast(u32, static_cast<float>(x * inverse));
    const verify::Interval interval = verify::kE4m3fnIntervals[code & 0x7F];
    const u32 magnitude = normalized & 0x7FFFFFFF;
    return magnitude >= interval.first && magnitude <= interval.last && normalized >> 31 == code >> 7;
}

template <class Words>
__device__ __forceinline__ void compare_row(const u8* source, u32 k, const u8* codes, const u8* scales,
                                            u64* first_wrong) {
    using Word = typename Words::Word;
    const u32 row = blockIdx.x;

    i32 largest = 0;
    for (u32 column = threadIdx.x * kOctet; column < k; column += blockDim.x * kOctet) {
        Word words[kOctet];
        load_octet(source, row, column, k, words);
        for (const Word word : words) {
            const auto magnitude = static_cast<i32>(Words::magnitude(word));
            largest = magnitude > largest ? magnitude : largest;
        }
    }
    const auto of_row = static_cast<u64>(largest_of_block(largest));

    // Rounding keeps order, so the largest word gives the largest BF16.
    const u32 amax = Words::finite(of_row) ? bf16_of<Words>(static_cast<Word>(of_row)) : u32{0x7F80};
    const bool finite = verify::Bf16Words::finite(amax);
    const RowScale derived = derive_scale(verify::Bf16Words::exact(finite ? amax : 0));
    if (!finite || derived.too_small) return report(first_wrong, row, Finding::kRefused);
    if (reinterpret_cast<const u16*>(scales)[row] != derived.word)
        return report(first_wrong, row, Finding::kWrongScale);

    for (u32 column = threadIdx.x * kOctet; column < k; column += blockDim.x * kOctet) {
        Word words[kOctet];
        u8 found[kOctet];
        load_octet(source, row, column, k, words);
        load_codes(codes, row, column, k, found);
        for (u32 i = 0; i < kOctet; ++i) {
            const bool right = derived.word == 0 ? found[i] == 0
                                                 : is_code(bf16_of<Words>(words[i]), derived.inverse, found[i]);
            if (!right) return report(first_wrong, row, Finding::kWrongCode);
        }
    }
}

}  // namespace ninforge::cuda

// One block a row. `first_wrong` comes as all ones and leaves as octets.cuh says, by rows.
#define NINFORGE_COMPARE_FP8_ROW(dtype, Words)                                                                  \
    extern "C" __global__ void __launch_bounds__(256) compare_fp8_row_##dtype(                                  \
        const unsigned char* __restrict__ source, unsigned int k, const unsigned char* __restrict__ codes,      \
        const unsigned char* __restrict__ scales, unsigned long long* first_wrong) {                            \
        ninforge::cuda::compare_row<ninforge::verify::Words>(source, k, codes, scales, first_wrong);            \
    }

NINFORGE_COMPARE_FP8_ROW(bf16, Bf16Words)
NINFORGE_COMPARE_FP8_ROW(f16, F16Words)
NINFORGE_COMPARE_FP8_ROW(f32, F32Words)
