#include "grouped.h"

#include <cstring>

#include "../row_split.h"
#include "encoder.h"
#include "vector_kernels.h"

namespace ninforge::encode {
namespace {

// The fault of a group that encode_group refused: its first non-finite element, or the first one of largest magnitude.
template <class Source>
Fault fault_of_group(GroupStatus status, const typename Source::Word* group, std::size_t lanes, std::size_t row,
                     std::size_t column) {
    const bool overflow = status == GroupStatus::kScaleOverflow;
    const i32 least = overflow ? largest_magnitude<Source>(group, lanes) : Source::kNonFinite;
    std::size_t lane = 0;
    while (Source::magnitude(group[lane]) < least) ++lane;
    return {overflow ? FaultKind::kScaleOverflow : FaultKind::kNonFinite, row, column + lane, group[lane]};
}

template <class Source, int kBits>
std::optional<Fault> encode_row(const typename Source::Word* source, std::size_t row, std::size_t k, u8* base, u8* high,
                                Word16* scale) {
    constexpr std::size_t kGroup = Grouped<kBits>::kGroup;
    std::size_t column = 0;
    const auto encode = [&](const typename Source::Word* group) {
        const GroupStatus status = encode_group<Source, kBits>(group, base, high, scale++);
        base += Grouped<kBits>::kBaseBytes;
        high += Grouped<kBits>::kHighBytes;
        return status;
    };
    for (; column + kGroup <= k; column += kGroup) {
        const GroupStatus status = encode(source + column);
        if (status != GroupStatus::kEncoded)
            return fault_of_group<Source>(status, source + column, kGroup, row, column);
    }
    if (column < k) {
        typename Source::Word padded[kGroup] = {};
        std::memcpy(padded, source + column, (k - column) * sizeof(padded[0]));
        const GroupStatus status = encode(padded);
        if (status != GroupStatus::kEncoded) return fault_of_group<Source>(status, padded, k - column, row, column);
        column += kGroup;
    }
    const std::size_t padding = RowSplit::of(kBits, k).groups - column / kGroup;
    std::memset(base, 0, padding * Grouped<kBits>::kBaseBytes);
    if constexpr (Grouped<kBits>::kHighBytes > 0) std::memset(high, 0, padding * Grouped<kBits>::kHighBytes);
    std::memset(scale, 0, padding * sizeof(*scale));
    return std::nullopt;
}

template <class Source, int kBits>
std::optional<Fault> encode_rows(const u8* source, std::size_t first, std::size_t rows, std::size_t k,
                                 GroupedPlanes planes) {
    const RowSplit split = RowSplit::of(kBits, k);
    for (std::size_t row = first; row < rows; ++row) {
        const auto fault = encode_row<Source, kBits>(
            reinterpret_cast<const typename Source::Word*>(source) + row * k, row, k,
            planes.codes + row * split.code_row(), planes.high + row * split.high_row(),
            reinterpret_cast<Word16*>(planes.scales + row * split.scale_row()));
        if (fault) return fault;
    }
    return std::nullopt;
}

template <class Source>
std::optional<Fault> encode_source(const u8* source, int code_bits, std::size_t first, std::size_t rows, std::size_t k,
                                   GroupedPlanes planes) {
    switch (code_bits) {
        case 4:
            return encode_rows<Source, 4>(source, first, rows, k, planes);
        case 5:
            return encode_rows<Source, 5>(source, first, rows, k, planes);
        case 6:
            return encode_rows<Source, 6>(source, first, rows, k, planes);
        default:
            return encode_rows<Source, 8>(source, first, rows, k, planes);
    }
}

}  // namespace

std::optional<Fault> encode_grouped(const std::uint8_t* source, Dtype dtype, int code_bits, std::size_t rows,
                                    std::size_t k, GroupedPlanes planes) {
    const VectorKernels* vector = vector_kernels();
    const std::size_t first = vector ? vector->grouped(source, dtype, code_bits, rows, k, planes) : 0;
    switch (dtype) {
        case Dtype::kBf16:
            return encode_source<Bf16>(source, code_bits, first, rows, k, planes);
        case Dtype::kF16:
            return encode_source<F16>(source, code_bits, first, rows, k, planes);
        default:
            return encode_source<F32>(source, code_bits, first, rows, k, planes);
    }
}

}  // namespace ninforge::encode
