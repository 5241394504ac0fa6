#include "legal.h"

#include <algorithm>

#include "../row_split.h"
#include "e4m3fn.h"
#include "grouped_codes.h"
#include "scale_tiles.h"
#include "source_words.h"

namespace ninforge::verify {
namespace {

// What is wrong with the word of a scale that must be finite and not negative, -0 included.
template <class Words>
std::optional<FaultKind> wrong_scale(std::uint32_t word) {
    if (word < Words::kInfinity) return std::nullopt;
    const std::uint64_t magnitude = Words::magnitude(word);
    if (magnitude > Words::kInfinity) return FaultKind::kNanScale;
    if (magnitude == Words::kInfinity) return FaultKind::kInfiniteScale;
    return magnitude == 0 ? FaultKind::kNegativeZeroScale : FaultKind::kNegativeScale;
}

// A stored group: `lanes` of its elements belong to the row.
struct StoredGroup {
    const std::uint8_t* base;
    const std::uint8_t* high;
    std::uint32_t scale;
    std::size_t row;
    std::size_t column;
    std::size_t lanes;
};

template <int kBits>
std::optional<FaultKind> wrong_code(unsigned word, bool padding, bool zero_scale) {
    if (padding && word != 0) return FaultKind::kNonzeroPadding;
    if (kBits == 8 && word == 0x80) return FaultKind::kCodeOutOfRange;
    if (zero_scale && word != 0) return FaultKind::kCodeUnderZeroScale;
    return std::nullopt;
}

// Whether every stored byte of a group's codes is zero.
template <int kBits>
bool all_zero(const std::uint8_t* base, const std::uint8_t* high) {
    using Format = GroupedFormat<kBits>;
    std::uint64_t any = 0;
    for (std::size_t i = 0; i < Format::kBaseBytes / 8; ++i) any |= load<std::uint64_t>(base, i);
    for (std::size_t i = 0; i < Format::kHighBytes / 8; ++i) any |= load<std::uint64_t>(high, i);
    return any == 0;
}

// Whether every code of a group is one of the format's: W8 has none for -128.
template <int kBits>
bool all_in_range(const std::uint8_t* base) {
    if constexpr (kBits < 8) return true;
    unsigned wrong = 0;
    for (int i = 0; i < GroupedFormat<kBits>::kBaseBytes; ++i) wrong |= base[i] == 0x80;
    return wrong == 0;
}

template <int kBits>
std::optional<Fault> check_group(const StoredGroup& group) {
    constexpr std::size_t kGroup = GroupedFormat<kBits>::kGroup;
    if (group.lanes == 0 && group.scale != 0)
        return Fault{FaultKind::kNonzeroPadding, group.row, group.column, group.scale};
    if (const auto wrong = wrong_scale<F16Words>(group.scale))
        return Fault{*wrong, group.row, group.column, group.scale};
    const bool any_code = group.scale != 0 && group.lanes == kGroup;
    if (any_code ? all_in_range<kBits>(group.base) : all_zero<kBits>(group.base, group.high)) return std::nullopt;
    std::uint8_t words[kGroup];
    unpack_codes<kBits>(group.base, group.high, words);
    for (std::size_t lane = 0; lane < kGroup; ++lane) {
        if (const auto wrong = wrong_code<kBits>(words[lane], lane >= group.lanes, group.scale == 0))
            return Fault{*wrong, group.row, group.column + lane, words[lane]};
    }
    return std::nullopt;
}

template <int kBits>
std::optional<Fault> check_groups(std::size_t rows, std::size_t k, StoredPlanes stored) {
    using Format = GroupedFormat<kBits>;
    constexpr std::size_t kGroup = Format::kGroup;
    const std::size_t groups = RowSplit::of(kBits, k).groups;
    for (std::size_t row = 0; row < rows; ++row) {
        for (std::size_t g = 0; g < groups; ++g) {
            const std::size_t index = row * groups + g, column = g * kGroup;
            const std::size_t lanes = std::min(kGroup, k - std::min(k, column));
            const StoredGroup group{stored.codes + index * Format::kBaseBytes, stored.high + index * Format::kHighBytes,
                                    load<std::uint16_t>(stored.scales, index), row, column, lanes};
            if (const auto fault = check_group<kBits>(group)) return fault;
        }
    }
    return std::nullopt;
}

std::optional<FaultKind> wrong_fp8_code(unsigned code, bool zero_scale) {
    if ((code & 0x7F) == kE4m3fnNan) return FaultKind::kNanCode;
    if (zero_scale && (code & 0x7F) != 0) return FaultKind::kCodeUnderZeroScale;
    return std::nullopt;
}

std::optional<FaultKind> wrong_e4m3fn_scale(unsigned word) {
    if (word < kE4m3fnNan) return std::nullopt;
    if ((word & 0x7F) == kE4m3fnNan) return FaultKind::kNanScale;
    return word == 0x80 ? FaultKind::kNegativeZeroScale : FaultKind::kNegativeScale;
}

}  // namespace

std::optional<Fault> legal_grouped(int code_bits, std::size_t rows, std::size_t k, StoredPlanes stored) {
    switch (code_bits) {
        case 4:
            return check_groups<4>(rows, k, stored);
        case 5:
            return check_groups<5>(rows, k, stored);
        case 6:
            return check_groups<6>(rows, k, stored);
        default:
            return check_groups<8>(rows, k, stored);
    }
}

std::optional<Fault> legal_fp8_row(std::size_t rows, std::size_t k, const std::uint8_t* codes,
                                   const std::uint8_t* scales) {
    for (std::size_t row = 0; row < rows; ++row) {
        const std::uint32_t scale = load<std::uint16_t>(scales, row);
        if (const auto wrong = wrong_scale<Bf16Words>(scale)) return Fault{*wrong, row, 0, scale};
        const unsigned last = scale == 0 ? 0 : kE4m3fnNan - 1;   // the largest legal magnitude
        const std::uint8_t* of_row = codes + row * k;
        std::uint8_t largest = 0;
        for (std::size_t i = 0; i < k; ++i)
            largest = std::max(largest, static_cast<std::uint8_t>(of_row[i] & 0x7F));
        if (largest <= last) continue;
        std::size_t i = 0;
        while (!wrong_fp8_code(of_row[i], scale == 0)) ++i;
        return Fault{*wrong_fp8_code(of_row[i], scale == 0), row, i, of_row[i]};
    }
    return std::nullopt;
}

std::optional<Fault> legal_nvfp4_scales(const std::uint8_t* scales, std::size_t rows, std::size_t k, bool swizzled) {
    const std::size_t groups = k / 16;
    unsigned largest = 0;
    for (std::size_t i = 0; i < rows * groups; ++i) largest = std::max<unsigned>(largest, scales[i]);
    if (!wrong_e4m3fn_scale(largest)) return std::nullopt;
    for (std::size_t n = 0; n < rows; ++n) {
        for (std::size_t g = 0; g < groups; ++g) {
            const unsigned word = scales[swizzled ? swizzled_offset(n, g, k) : n * groups + g];
            if (const auto wrong = wrong_e4m3fn_scale(word)) return Fault{*wrong, n, g * 16, word};
        }
    }
    return std::nullopt;
}

}  // namespace ninforge::verify
