// Whether rows of the grouped formats are what the source gives (numeric-formats.md 5 to 7), sixteen groups at a time over
// the vectors of one instruction set.
//
// No code is derived here. A scale is found in binary64 and compared; a code is right if no other is nearer to the
// quotient that it stands for.
#pragma once

#include <algorithm>
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
    static constexpr std::size_t kGroup = Format::kGroup, kBatch = 16;

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
        alignas(64) Word magnitudes[kBatch] = {};
        alignas(64) std::uint16_t scale_words[kBatch] = {};
        alignas(64) float inverses[kBatch], scales[kBatch];
        std::memcpy(scale_words, stored.scales, count * 2);
        std::uint64_t largest = 0;
        for (std::size_t i = 0; i < count; ++i) {
            const auto magnitude = Source::largest_magnitude(words + i * kGroup * sizeof(Word), kGroup);
            magnitudes[i] = static_cast<Word>(magnitude);
            largest = std::max(largest, static_cast<std::uint64_t>(magnitude));
        }
        if (largest >= Words::kInfinity || !confirm_scales(magnitudes, scale_words, scales, inverses)) return false;
        Integers farthest{};
        for (std::size_t i = 0; i < count; ++i) {
            const Integers distance = distances(words + i * kGroup * sizeof(Word), {inverses[i], scales[i]},
                                                after(stored, i), sums);
            farthest = distance > farthest ? distance : farthest;
        }
        return Lanes::largest(farthest) <= __builtin_bit_cast(std::int32_t, 0.5f);
    }

    // Whether each scale is the one of its group's largest magnitude; gives scales and reciprocals as numbers. Quotients
    // of binary32 numbers may be rounded to binary64 on their way to binary32.
    static bool confirm_scales(const Word* magnitudes, const std::uint16_t* words, float* scales, float* inverses) {
        typename Lanes::Longs right = ~typename Lanes::Longs{};
        for (std::size_t i = 0; i < kBatch; i += Source::kLanes) {
            const Floats amax = Source::values(reinterpret_cast<const std::uint8_t*>(magnitudes + i));
            const Floats stored = Lanes::binary16(load<typename Lanes::Halves>(
                reinterpret_cast<const std::uint8_t*>(words + i), 0));
            const Halved first = confirm_half(Lanes::first_half(amax), Lanes::first_half(stored));
            const Halved second = confirm_half(Lanes::second_half(amax), Lanes::second_half(stored));
            right &= first.right & second.right;
            const Floats inverse = Lanes::join(first.inverse, second.inverse);
            std::memcpy(scales + i, &stored, sizeof(stored));
            std::memcpy(inverses + i, &inverse, sizeof(inverse));
        }
        // A negative zero is no scale; other negative words, infinities and NaN are never equal to one.
        std::uint32_t signs = 0;
        for (std::size_t i = 0; i < kBatch; ++i) signs |= words[i];
        return (signs & 0x8000) == 0 && Lanes::every(right);
    }

    struct Halved {
        typename Lanes::Longs right;
        Doubles inverse;
    };

    static Halved confirm_half(Doubles amax, Doubles stored) {
        const Doubles raw = Lanes::round_to_binary32(amax / static_cast<double>(Format::kMax));
        const Doubles nearest = round_to_binary16(raw);
        const Doubles positive = nearest == 0.0 ? Doubles{} + 0x1p-24 : nearest;
        const Doubles scale = amax == 0.0 ? Doubles{} : positive;
        return {(scale == stored) & (scale <= 65504.0), amax == 0.0 ? Doubles{} : 1.0 / positive};
    }

    // To the nearest multiple of binary16's unit, ties to even: added to 2^42 times a power of two, a number below
    // twice that power keeps ten bits behind it.
    static Doubles round_to_binary16(Doubles values) {
        using Longs = typename Lanes::Longs;
        const Doubles power = (Doubles)((Longs)values & (std::int64_t{0x7FF} << 52));
        const Doubles large = (power > 0x1p-14 ? power : Doubles{} + 0x1p-14) * 0x1p42;
        return (values + large) - large;
    }

    // What codes of a group are multiplied with to get the quotients that they stand for, and to get their values back.
    struct Factors {
        float inverse;
        float scale;
    };

    // How far codes are from their quotients at most, lane by lane, as words of binary32 and one more for an odd code,
    // which does not reach a tie. No distance of a half or less is rounded, and none that is more is rounded to a half
    // but for the codes 1 and -1, which are odd.
    static Integers distances(const std::uint8_t* words, Factors factors, StoredPlanes stored, RowSums<Lanes>& sums) {
        alignas(64) std::int8_t codes[64];
        unpack(stored, codes);
        Integers farthest{};
        for (std::size_t i = 0; i < kGroup; i += Source::kLanes) {
            const Floats values = Source::values(words + i * sizeof(Word));
            const Floats above = Lanes::larger(values * factors.inverse, Floats{} + Format::kMin);
            const Floats quotient = Lanes::smaller(above, Floats{} + Format::kMax);
            const Integers code = Lanes::extend_codes(codes + i);
            const Floats nearest = __builtin_convertvector(code, Floats);
            const Integers distance = ((Integers)(quotient - nearest) & 0x7FFFFFFF) + (code & 1);
            farthest = distance > farthest ? distance : farthest;
            if constexpr (kStatistics) sums.template add<Word>(i, nearest * factors.scale, values);
        }
        return farthest;
    }

    // The signed codes of a group, one a byte.
    static void unpack(StoredPlanes stored, std::int8_t* codes) {
        if constexpr (kBits == 8) {
            std::memcpy(codes, stored.codes, kGroup);
        } else {
            using Bytes = typename Lanes::Bytes;
            alignas(64) std::uint8_t low[64], high[64];
            spread<4>(stored.codes, 32, low);
            if constexpr (kBits > 4) spread_high(stored.high, high);
            constexpr std::int8_t kSign = 1 << (kBits - 1);
            for (std::size_t at = 0; at < 64; at += sizeof(Bytes)) {
                auto word = load<Bytes>(low + at, 0);
                if constexpr (kBits > 4) word |= load<Bytes>(high + at, 0);
                const Bytes code = (word ^ kSign) - kSign;
                std::memcpy(codes + at, &code, sizeof(code));
            }
        }
    }

    static void spread_high(const std::uint8_t* high, std::uint8_t* lanes) {
        alignas(64) std::uint8_t nibbles[64], pairs[64];
        if constexpr (kBits == 6) {
            spread<4>(high, 16, nibbles);
            spread<2, 4>(nibbles, 32, lanes);
        } else {
            const auto two = halves<4, 0>(Lanes::extend_eight(high));
            std::memcpy(nibbles, &two, sizeof(two));
            spread<2>(nibbles, 16, pairs);
            spread<1, 4>(pairs, 32, lanes);
        }
    }

    // Makes two bytes of each: its low kWidth bits, and the kWidth bits above them, from bit kPlace on.
    template <int kWidth, int kPlace = 0>
    static void spread(const std::uint8_t* from, std::size_t count, std::uint8_t* to) {
        constexpr std::size_t kStep = sizeof(typename Lanes::Shorts) / 2;
        for (std::size_t at = 0; at < count; at += kStep) {
            const auto two = halves<kWidth, kPlace>(Lanes::extend_bytes(from + at));
            std::memcpy(to + 2 * at, &two, sizeof(two));
        }
    }

    template <int kWidth, int kPlace>
    static typename Lanes::Shorts halves(typename Lanes::Shorts bytes) {
        constexpr std::int16_t kMask = ((1 << kWidth) - 1) * 0x0101;
        return ((bytes | bytes << (8 - kWidth)) & kMask) << kPlace;
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
