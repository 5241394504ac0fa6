// Rows of the grouped formats, eight groups at a time, over the vectors of one instruction set.
#pragma once

#include <cstring>

#include "../prefetch.h"
#include "../row_split.h"
#include "encoder.h"
#include "vector_kernels.h"

namespace ninforge::encode {
namespace {

template <class Lanes, class Source, int kBits>
class GroupedRows {
public:
    static std::size_t encode(const u8* source, std::size_t rows, std::size_t k, GroupedPlanes planes) {
        const RowSplit split = RowSplit::of(kBits, k);
        for (std::size_t row = 0; row < rows; ++row) {
            const Groups to{planes.codes + row * split.code_row(), planes.high + row * split.high_row(),
                            planes.scales + row * split.scale_row()};
            if (!encode_row(reinterpret_cast<const Word*>(source) + row * k, k, split.groups, to)) return row;
        }
        return rows;
    }

private:
    using Word = typename Source::Word;
    using Format = Grouped<kBits>;
    static constexpr std::size_t kGroup = Format::kGroup, kBatch = 8;

    // Where the next groups go.
    struct Groups {
        u8* base;
        u8* high;
        u8* scales;

        Groups after(std::size_t count) const {
            return {base + count * Format::kBaseBytes, high + count * Format::kHighBytes, scales + count * 2};
        }
    };

    static bool encode_row(const Word* words, std::size_t k, std::size_t groups, Groups to) {
        const std::size_t full = k / kGroup;
        std::size_t group = 0;
        for (; group + kBatch <= full; group += kBatch)
            if (!encode_groups(words + group * kGroup, kBatch, to.after(group))) return false;
        if (group < full && !encode_groups(words + group * kGroup, full - group, to.after(group))) return false;
        group = full;
        if (k % kGroup != 0) {
            Word padded[kGroup] = {};
            std::memcpy(padded, words + group * kGroup, k % kGroup * sizeof(Word));
            if (!encode_groups(padded, 1, to.after(group))) return false;
            ++group;
        }
        const Groups padding = to.after(group);
        std::memset(padding.base, 0, (groups - group) * Format::kBaseBytes);
        if constexpr (Format::kHighBytes > 0) std::memset(padding.high, 0, (groups - group) * Format::kHighBytes);
        std::memset(padding.scales, 0, (groups - group) * 2);
        return true;
    }

    // Encodes up to kBatch groups. False where one has no scale.
    static bool encode_groups(const Word* words, std::size_t count, Groups to) {
        float amax[kBatch] = {}, inverses[kBatch];
        u16 scales[kBatch];
        bool legal = true;
        for (std::size_t i = 0; i < count; ++i) {
            const i32 largest = Lanes::template largest<Source>(words + i * kGroup, kGroup);
            legal &= largest < Source::kNonFinite;
            amax[i] = Source::widen(static_cast<u32>(largest));
        }
        Lanes::template group_scales<kBits>(amax, scales, inverses);
        for (const u16 scale : scales) legal &= scale < 0x7C00;
        if (!legal) return false;
        std::memcpy(to.scales, scales, count * 2);
        for (std::size_t i = 0; i < count; ++i) {
            prefetch(words + i * kGroup, kPage, kGroup * sizeof(Word));
            encode_group(words + i * kGroup, inverses[i], to.after(i));
        }
        return true;
    }

    static void encode_group(const Word* words, float inverse, Groups to) {
        const auto first = codes(words, inverse);
        if constexpr (kBits == 8) {
            Lanes::store(first, to.base);
        } else {
            const auto second = codes(words + 32, inverse);
            Lanes::store_nibbles(first, second, to.base);
            if constexpr (kBits == 5) Lanes::store_bits(first, second, to.high);
            if constexpr (kBits == 6) Lanes::store_pairs(first, second, to.high);
        }
    }

    // The codes of 32 words: `grouped_code` of encoder.h, of each.
    static typename Lanes::Bytes codes(const Word* words, float inverse) {
        typename Lanes::Floats values[Lanes::kVectors];
        typename Lanes::Integers rounded[Lanes::kVectors];
        Lanes::widen(Source{}, words, values);
        const auto factor = Lanes::all(inverse);
        for (int i = 0; i < Lanes::kVectors; ++i) rounded[i] = Lanes::round(Lanes::multiply(values[i], factor));
        return Lanes::clamp(Lanes::narrow(Source{}, rounded), Format::kMin, Format::kMax);
    }
};

template <class Lanes, class Source>
std::size_t encode_grouped_source(const u8* source, int code_bits, std::size_t rows, std::size_t k,
                                  GroupedPlanes planes) {
    switch (code_bits) {
        case 4:
            return GroupedRows<Lanes, Source, 4>::encode(source, rows, k, planes);
        case 5:
            return GroupedRows<Lanes, Source, 5>::encode(source, rows, k, planes);
        case 6:
            return GroupedRows<Lanes, Source, 6>::encode(source, rows, k, planes);
        default:
            return GroupedRows<Lanes, Source, 8>::encode(source, rows, k, planes);
    }
}

template <class Lanes>
std::size_t encode_grouped_rows(const std::uint8_t* source, Dtype dtype, int code_bits, std::size_t rows,
                                std::size_t k, GroupedPlanes planes) {
    switch (dtype) {
        case Dtype::kBf16:
            return encode_grouped_source<Lanes, Bf16>(source, code_bits, rows, k, planes);
        case Dtype::kF16:
            return encode_grouped_source<Lanes, F16>(source, code_bits, rows, k, planes);
        default:
            return encode_grouped_source<Lanes, F32>(source, code_bits, rows, k, planes);
    }
}

}  // namespace
}  // namespace ninforge::encode
