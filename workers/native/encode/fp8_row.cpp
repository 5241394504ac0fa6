#include "fp8_row.h"

#include <cstring>

#include "encoder.h"
#include "vector_kernels.h"

namespace ninforge::encode {
namespace {

template <class Source>
std::optional<Fault> encode_row(const typename Source::Word* source, std::size_t row, std::size_t k, u8* codes,
                                Word16* scale) {
    const typename Source::Magnitude largest = largest_magnitude<Source>(source, k);
    if (largest >= Source::kBf16Overflow) {
        std::size_t column = 0;
        while (Source::magnitude(source[column]) < Source::kBf16Overflow) ++column;
        return Fault{FaultKind::kNonFinite, row, column, source[column]};
    }
    const float amax = Source::round_to_bf16(static_cast<u32>(largest));
    if (amax == 0.0f) {
        *scale = 0;
        std::memset(codes, 0, k);
        return std::nullopt;
    }
    const RowScale chosen = row_scale(amax);
    if (!is_finite(chosen.inverse)) return Fault{FaultKind::kRowTooSmall, row, 0, chosen.word};
    *scale = static_cast<u16>(chosen.word);
    for (std::size_t i = 0; i < k; ++i) codes[i] = fp8_code(Source::round_to_bf16(source[i]), chosen.inverse);
    return std::nullopt;
}

template <class Source>
std::optional<Fault> encode_rows(const u8* source, std::size_t first, std::size_t rows, std::size_t k, u8* codes,
                                 u8* scales) {
    for (std::size_t row = first; row < rows; ++row) {
        const auto fault = encode_row<Source>(reinterpret_cast<const typename Source::Word*>(source) + row * k, row, k,
                                              codes + row * k, reinterpret_cast<Word16*>(scales) + row);
        if (fault) return fault;
    }
    return std::nullopt;
}

}  // namespace

std::optional<Fault> encode_fp8_row(const std::uint8_t* source, Dtype dtype, std::size_t rows, std::size_t k,
                                    std::uint8_t* codes, std::uint8_t* scales) {
    const VectorKernels* vector = vector_kernels();
    const std::size_t first = vector ? vector->fp8_row(source, dtype, rows, k, codes, scales) : 0;
    switch (dtype) {
        case Dtype::kBf16:
            return encode_rows<Bf16>(source, first, rows, k, codes, scales);
        case Dtype::kF16:
            return encode_rows<F16>(source, first, rows, k, codes, scales);
        default:
            return encode_rows<F32>(source, first, rows, k, codes, scales);
    }
}

}  // namespace ninforge::encode
