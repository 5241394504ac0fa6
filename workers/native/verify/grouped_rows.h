// Whether rows of the grouped formats are what the source gives (numeric-formats.md 5 to 7), eight groups at a time over
// the vectors of one instruction set.
//
// No code is derived here. A scale is found in binary64 and compared; a code is right if no other is nearer to the
// quotient that it stands for.
#pragma once

#include <cstring>

#include "../row_split.h"
#include "grouped_codes.h"
#include "row_sums.h"
#include "source_lanes.h"
#include "vector_kernels.h"

namespace ninforge::verify {
namespace {

template <class Lanes, class Words, int kBits, bool kStatistics>
class GroupedRows {
public:
    static std::size_t confirm(const std::uint8_t* source, std::size_t rows, std::size_t k, StoredPlanes stored,
                               ErrorSums* sums) {
        const RowSplit split = RowSplit::of(kBits, k);
        RowSums<Lanes> row_sums;
        for (std::size_t row = 0; row < rows; ++row) {
            const StoredPlanes of_row{stored.codes + row * split.code_row(), stored.high + row * split.high_row(),
                                      stored.scales + row * split.scale_row()};
            if (!confirm_row(source + row * k * sizeof(Word), k, split.groups, of_row, row_sums)) return row;
            if constexpr (kStatistics) row_sums.close(row, *sums);
        }
        return rows;
    }

private:
    using Format = GroupedFormat<kBits>;
    using Source = SourceLanes<Lanes, Words>;
    using Floats = typename Lanes::Floats;
    using Integers = typename Lanes::Integers;
    using Doubles = typename Lanes::Doubles;
    using Word = typename Words::Word;
    static constexpr std::size_t kGroup = Format::kGroup, kBatch = 8;

    static StoredPlanes after(StoredPlanes planes, std::size_t groups) {
        return {planes.codes + groups * Format::kBaseBytes, planes.high + groups * Format::kHighBytes,
                planes.scales + groups * 2};
    }

    static bool confirm_row(const std::uint8_t* words, std::size_t k, std::size_t groups, StoredPlanes stored,
                            RowSums<Lanes>& sums) {
        const std::size_t full = k / kGroup;
        for (std::size_t group = 0; group < full; group += kBatch) {
            const std::size_t count = full - group < kBatch ? full - group : kBatch;
            if (!confirm_groups(words + group * kGroup * sizeof(Word), count, after(stored, group), sums)) return false;
        }
        // Lanes past the row count as zeros.
        for (std::size_t group = full; group < groups; ++group) {
            std::uint8_t padded[kGroup * sizeof(Word)] = {};
            if (group == full) std::memcpy(padded, words + group * sizeof(padded), k % kGroup * sizeof(Word));
            if (!confirm_groups(padded, 1, after(stored, group), sums)) return false;
        }
        return true;
    }

    static bool confirm_groups(const std::uint8_t* words, std::size_t count, StoredPlanes stored, RowSums<Lanes>& sums) {
        double largest[kBatch] = {}, scales[kBatch] = {}, inverses[kBatch];
        bool right = true;
        for (std::size_t i = 0; i < count; ++i) {
            const auto magnitude = Source::largest_magnitude(words + i * kGroup * sizeof(Word), kGroup);
            const auto scale = load<std::uint16_t>(stored.scales, i);
            right &= magnitude < static_cast<std::int64_t>(Words::kInfinity) && scale < F16Words::kInfinity;
            largest[i] = Words::value(static_cast<Word>(magnitude));
            scales[i] = F16Words::value(scale);
        }
        if (!right || !confirm_scales(largest, scales, inverses)) return false;
        for (std::size_t i = 0; i < count; ++i) {
            const StoredPlanes group = after(stored, i);
            if (!confirm_codes(words + i * kGroup * sizeof(Word), static_cast<float>(inverses[i]),
                               static_cast<float>(scales[i]), group, sums))
                return false;
        }
        return true;
    }

    // Whether each scale is the one of a group's largest magnitude; `inverses` becomes the reciprocals. Quotients of
    // binary32 numbers may be rounded to binary64 on their way to binary32.
    static bool confirm_scales(const double* largest, const double* scales, double* inverses) {
        constexpr std::size_t kDoubles = sizeof(Doubles) / sizeof(double);
        typename Lanes::Longs right = ~typename Lanes::Longs{};
        for (std::size_t i = 0; i < kBatch; i += kDoubles) {
            Doubles amax, stored;
            std::memcpy(&amax, largest + i, sizeof(amax));
            std::memcpy(&stored, scales + i, sizeof(stored));
            const Doubles raw = Lanes::round_to_binary32(amax / static_cast<double>(Format::kMax));
            const Doubles nearest = round_to_binary16(raw);
            const Doubles positive = nearest == 0.0 ? Doubles{} + 0x1p-24 : nearest;
            const Doubles scale = amax == 0.0 ? Doubles{} : positive;
            const Doubles inverse = Lanes::round_to_binary32(1.0 / positive);
            const Doubles used = amax == 0.0 ? Doubles{} : inverse;
            right &= scale == stored;
            std::memcpy(inverses + i, &used, sizeof(used));
        }
        std::int64_t all[kDoubles], every = -1;
        std::memcpy(all, &right, sizeof(all));
        for (const std::int64_t one : all) every &= one;
        return every != 0;
    }

    // To the nearest multiple of binary16's unit, ties to even: added to 2^42 times a power of two, a number below
    // twice that power keeps ten bits behind it.
    static Doubles round_to_binary16(Doubles values) {
        using Longs = typename Lanes::Longs;
        const Doubles power = (Doubles)((Longs)values & (std::int64_t{0x7FF} << 52));
        const Doubles large = (power > 0x1p-14 ? power : Doubles{} + 0x1p-14) * 0x1p42;
        return (values + large) - large;
    }

    static bool confirm_codes(const std::uint8_t* words, float inverse, float scale, StoredPlanes stored,
                              RowSums<Lanes>& sums) {
        alignas(64) std::int8_t codes[64];
        unpack(stored, codes);
        constexpr float kLeast = Format::kMin, kMost = Format::kMax;
        Integers farthest{};
        for (std::size_t i = 0; i < kGroup; i += Source::kLanes) {
            const Floats values = Source::values(words + i * sizeof(Word)), normalized = values * inverse;
            const Floats above = normalized > kLeast ? normalized : Floats{} + kLeast;
            const Floats quotient = above < kMost ? above : Floats{} + kMost;
            const Integers code = Lanes::extend_codes(codes + i);
            const Floats nearest = __builtin_convertvector(code, Floats);
            // In units of the last place of a half; an odd code does not reach a tie. No difference that is a half or
            // less is rounded, and none that is more is rounded to a half but for codes 1 and -1, which are odd.
            const Integers distance = ((Integers)(quotient - nearest) & 0x7FFFFFFF) + (code & 1);
            farthest = distance > farthest ? distance : farthest;
            if constexpr (kStatistics) sums.add(i, nearest * scale, values);
        }
        return Lanes::largest(farthest) <= __builtin_bit_cast(std::int32_t, 0.5f);
    }

    // The signed codes of a group, one a byte.
    static void unpack(StoredPlanes stored, std::int8_t* codes) {
        if constexpr (kBits == 8) {
            std::memcpy(codes, stored.codes, kGroup);
        } else {
            alignas(64) std::uint8_t low[64], high[64] = {};
            spread<4>(stored.codes, 32, low);
            if constexpr (kBits > 4) spread_high(stored.high, high);
            using Bytes = typename Lanes::Bytes;
            constexpr std::int8_t kSign = 1 << (kBits - 1);
            for (std::size_t at = 0; at < 64; at += sizeof(Bytes)) {
                const Bytes word = load<Bytes>(low + at, 0) | load<Bytes>(high + at, 0);
                const Bytes code = (word ^ kSign) - kSign;
                std::memcpy(codes + at, &code, sizeof(code));
            }
        }
    }

    static void spread_high(const std::uint8_t* high, std::uint8_t* lanes) {
        alignas(64) std::uint8_t stored[64] = {}, nibbles[64], pairs[64];
        std::memcpy(stored, high, Format::kHighBytes);
        spread<4>(stored, Format::kHighBytes, nibbles);
        if constexpr (kBits == 6) {
            spread<2, 4>(nibbles, 32, lanes);
        } else {
            spread<2>(nibbles, 16, pairs);
            spread<1, 4>(pairs, 32, lanes);
        }
    }

    // Makes two bytes of each: its low kWidth bits, and the kWidth bits above them, from bit kPlace on.
    template <int kWidth, int kPlace = 0>
    static void spread(const std::uint8_t* from, std::size_t count, std::uint8_t* to) {
        using Shorts = typename Lanes::Shorts;
        constexpr std::size_t kStep = sizeof(Shorts) / 2;
        constexpr std::int16_t kMask = ((1 << kWidth) - 1) * 0x0101;
        for (std::size_t at = 0; at < count; at += kStep) {
            const Shorts word = Lanes::extend_bytes(from + at);
            const Shorts two = ((word | word << (8 - kWidth)) & kMask) << kPlace;
            std::memcpy(to + 2 * at, &two, sizeof(two));
        }
    }
};

template <class Lanes, class Words, bool kStatistics>
std::size_t confirm_grouped_source(const std::uint8_t* source, int code_bits, std::size_t rows, std::size_t k,
                                   StoredPlanes stored, ErrorSums* sums) {
    switch (code_bits) {
        case 4:
            return GroupedRows<Lanes, Words, 4, kStatistics>::confirm(source, rows, k, stored, sums);
        case 5:
            return GroupedRows<Lanes, Words, 5, kStatistics>::confirm(source, rows, k, stored, sums);
        case 6:
            return GroupedRows<Lanes, Words, 6, kStatistics>::confirm(source, rows, k, stored, sums);
        default:
            return GroupedRows<Lanes, Words, 8, kStatistics>::confirm(source, rows, k, stored, sums);
    }
}

template <class Lanes, class Words>
std::size_t confirm_grouped_words(const std::uint8_t* source, int code_bits, std::size_t rows, std::size_t k,
                                  StoredPlanes stored, ErrorSums* sums) {
    return sums ? confirm_grouped_source<Lanes, Words, true>(source, code_bits, rows, k, stored, sums)
                : confirm_grouped_source<Lanes, Words, false>(source, code_bits, rows, k, stored, sums);
}

template <class Lanes>
std::size_t confirm_grouped_rows(const std::uint8_t* source, Dtype dtype, int code_bits, std::size_t rows,
                                 std::size_t k, StoredPlanes stored, ErrorSums* sums) {
    switch (dtype) {
        case Dtype::kBf16:
            return confirm_grouped_words<Lanes, Bf16Words>(source, code_bits, rows, k, stored, sums);
        case Dtype::kF16:
            return confirm_grouped_words<Lanes, F16Words>(source, code_bits, rows, k, stored, sums);
        default:
            return confirm_grouped_words<Lanes, F32Words>(source, code_bits, rows, k, stored, sums);
    }
}

}  // namespace
}  // namespace ninforge::verify
