// Decodes planes of row-split-k128-v1 and compares them with their source: every scale, code and padding lane.
//
// The verifier's arithmetic, in integers and exact binary64: nothing here comes from the encoder. Threads share the work
// as they do in grouped.cu.
#include "grouped_codes.h"
#include "octets.cuh"
#include "source_words.h"

namespace ninforge::cuda {

struct GroupScale {
    u32 word;
    double inverse;
    bool overflow;
};

// Scale and reciprocal of a group (numeric-formats.md, section 7).
__device__ __forceinline__ GroupScale derive_scale(verify::Exact amax, u32 qmax) {
    using namespace verify;
    if (amax.mantissa == 0) return {0, 0.0, false};
    Exact scale = round_to(round_quotient(amax, qmax, kBinary32), kBinary16);
    if (overflows(scale, kBinary16)) return {0, 0.0, true};
    if (scale.mantissa == 0) scale = {1, kBinary16.least};
    const Exact inverse = round_quotient({1, -scale.exponent}, scale.mantissa, kBinary32);
    return {word_of(scale, kBinary16), to_double(inverse), false};
}

// Whether `code` is the nearest to round_f32(x * inverse) within the bounds of the codes, the even one of two equally
// near. The product of two binary32 numbers is exact in binary64, so its conversion is the one rounding.
template <int kBits>
__device__ __forceinline__ bool is_code(double x, double inverse, int code) {
    constexpr double kMin = verify::GroupedFormat<kBits>::kMin, kMax = verify::GroupedFormat<kBits>::kMax;
    const double quotient = static_cast<double>(static_cast<float>(x * inverse));
    const double above = quotient > kMin ? quotient : kMin;
    const double twice = 2.0 * ((above < kMax ? above : kMax) - static_cast<double>(code));
    const double distance = twice < 0.0 ? -twice : twice;
    return distance < 1.0 || (distance == 1.0 && code % 2 == 0);
}

template <class Words, int kBits>
__device__ __forceinline__ void compare_octet(const u8* source, u32 rows, u32 k, const u8* codes, const u8* high,
                                              const u8* scales, u64* first_wrong) {
    using Format = verify::GroupedFormat<kBits>;
    using Word = typename Words::Word;
    constexpr u32 kLanes = Format::kGroup / kOctet;
    const u32 octets = (k + 127) / 128 * (128 / kOctet);   // a row's
    const u32 octet = blockIdx.x * blockDim.x + threadIdx.x;
    const u32 row = octet / octets;

    Word words[kOctet] = {};
    if (row < rows) load_octet(source, row, octet % octets * kOctet, k, words);
    i32 largest = 0;
    for (const Word word : words) {
        const auto magnitude = static_cast<i32>(Words::magnitude(word));
        largest = magnitude > largest ? magnitude : largest;
    }
    const auto of_group = static_cast<u64>(largest_of_lanes<kLanes>(largest));
    if (row >= rows) return;

    const u32 group = octet / kLanes;
    const bool finite = Words::finite(of_group);
    const GroupScale derived = derive_scale(Words::exact(finite ? of_group : 0), Format::kMax);
    if (!finite || derived.overflow) return report(first_wrong, group, Finding::kRefused);
    if (reinterpret_cast<const u16*>(scales)[group] != derived.word)
        return report(first_wrong, group, Finding::kWrongScale);

    u32 base[2] = {};
    u32 above = 0;
    if constexpr (kBits == 8) {
        const uint2 stored = reinterpret_cast<const uint2*>(codes)[octet];
        base[0] = stored.x;
        base[1] = stored.y;
    } else {
        base[0] = reinterpret_cast<const u32*>(codes)[octet];
    }
    if constexpr (kBits == 5) above = high[octet];
    if constexpr (kBits == 6) above = reinterpret_cast<const u16*>(high)[octet];
    for (u32 i = 0; i < kOctet; ++i) {
        u32 stored;
        if constexpr (kBits == 8)
            stored = base[i / 4] >> (8 * (i % 4)) & 0xFF;
        else
            stored = (base[0] >> (4 * i) & 15) | (above >> ((kBits - 4) * i) & ((1 << (kBits - 4)) - 1)) << 4;
        if (!is_code<kBits>(Words::value(words[i]), derived.inverse, verify::signed_code<kBits>(stored)))
            return report(first_wrong, group, Finding::kWrongCode);
    }
}

}  // namespace ninforge::cuda

// One thread an octet of [rows, K padded to 128]. `first_wrong` comes as all ones and leaves as octets.cuh says, by
// groups in row-major order.
#define NINFORGE_COMPARE_GROUPED(bits, dtype, Words)                                                                 \
    extern "C" __global__ void __launch_bounds__(256) compare_grouped_##bits##_##dtype(                              \
        const unsigned char* __restrict__ source, unsigned int rows, unsigned int k,                                 \
        const unsigned char* __restrict__ codes, const unsigned char* __restrict__ high,                             \
        const unsigned char* __restrict__ scales, unsigned long long* first_wrong) {                                 \
        ninforge::cuda::compare_octet<ninforge::verify::Words, bits>(source, rows, k, codes, high, scales,           \
                                                                     first_wrong);                                   \
    }
#define NINFORGE_COMPARE_GROUPED_WITH(dtype, Words) \
    NINFORGE_COMPARE_GROUPED(4, dtype, Words)       \
    NINFORGE_COMPARE_GROUPED(5, dtype, Words)       \
    NINFORGE_COMPARE_GROUPED(6, dtype, Words)       \
    NINFORGE_COMPARE_GROUPED(8, dtype, Words)

NINFORGE_COMPARE_GROUPED_WITH(bf16, Bf16Words)
NINFORGE_COMPARE_GROUPED_WITH(f16, F16Words)
NINFORGE_COMPARE_GROUPED_WITH(f32, F32Words)
