// Whether rows of the grouped formats are what the source gives (numeric-formats.md 5 to 7), sixteen groups at a time over
// the vectors of one instruction set.
//
// A scale is found in binary64 and compared. A code is right if it is the whole number that is nearest to the quotient that
// it stands for, the even one of two as near; quotients past the last codes are bounded first.
#pragma once

#include <cstring>

#include "../prefetch.h"
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
        Sums row_sums;
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
    using Shorts = typename Lanes::Shorts;
    using Doubles = typename Lanes::Doubles;
    using Word = typename Words::Word;
    using Sums = RowSums<Lanes, Word>;
    static constexpr std::size_t kGroup = Format::kGroup, kGroupBytes = kGroup * sizeof(Word), kBatch = 16;
    static constexpr std::size_t kShorts = sizeof(Shorts) / 2;
    static constexpr int kPlace = 16 - kBits, kUnit = 1 << kPlace;   // unpacked codes are the upper bits of 16

    static StoredPlanes after(StoredPlanes planes, std::size_t groups) {
        return {planes.codes + groups * Format::kBaseBytes, planes.high + groups * Format::kHighBytes,
                planes.scales + groups * 2};
    }

    static bool confirm_row(const std::uint8_t* words, std::size_t k, std::size_t groups, StoredPlanes stored,
                            Sums& sums) {
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

    static bool confirm_groups(const std::uint8_t* words, std::size_t count, StoredPlanes stored, Sums& sums) {
        alignas(64) Word magnitudes[kBatch] = {};
        alignas(64) std::uint16_t scale_words[kBatch] = {};
        std::memcpy(scale_words, stored.scales, count * 2);
        for (std::size_t i = 0; i < count; ++i)
            magnitudes[i] = static_cast<Word>(Source::largest_magnitude(words + i * kGroupBytes, kGroup));
        alignas(64) float inverses[kBatch], scales[kBatch];
        const Judged scale = confirm_scales(magnitudes, scale_words, scales, inverses);
        if (!scale.right) return false;
        Shorts wrong{};
        for (std::size_t i = 0; i < count; ++i) {
            prefetch(words + i * kGroupBytes, kPage, kGroupBytes);
            wrong |= differences(words + i * kGroupBytes, inverses[i], after(stored, i));
            if constexpr (kStatistics) add_statistics(words + i * kGroupBytes, scales[i], after(stored, i), sums);
        }
        if (scale.bounds_codes) return !Lanes::any(wrong);
        for (std::size_t i = 0; i < count; ++i)
            if (!confirm_bounded(words + i * kGroupBytes, inverses[i], after(stored, i))) return false;
        return true;
    }

    struct Judged {
        bool right;          // each scale is the one of its group's largest magnitude
        bool bounds_codes;   // and no quotient is nearer to a number past the last code
    };

    // Gives scales, of codes that are kUnit times as large, and reciprocals as numbers. Quotients of binary32 numbers may
    // be rounded to binary64 on their way to binary32.
    static Judged confirm_scales(const Word* magnitudes, const std::uint16_t* words, float* scales, float* inverses) {
        typename Lanes::Longs right = ~typename Lanes::Longs{};
        Integers bounds = ~Integers{};
        for (std::size_t i = 0; i < kBatch; i += Source::kLanes) {
            const Floats amax = Source::values(reinterpret_cast<const std::uint8_t*>(magnitudes + i));
            const Floats stored = Lanes::binary16(load<typename Lanes::Halves>(
                reinterpret_cast<const std::uint8_t*>(words + i), 0));
            const Halved first = confirm_half(Lanes::first_half(amax), Lanes::first_half(stored));
            const Halved second = confirm_half(Lanes::second_half(amax), Lanes::second_half(stored));
            right &= first.right & second.right;
            const Floats inverse = Lanes::join(first.inverse, second.inverse);
            const Floats scale = stored * (1.0f / kUnit);
            bounds &= amax * inverse < Format::kMax + 0.5f;
            std::memcpy(scales + i, &scale, sizeof(scale));
            std::memcpy(inverses + i, &inverse, sizeof(inverse));
        }
        // A negative zero is no scale; other negative words, infinities and NaN are never equal to one.
        std::uint32_t signs = 0;
        for (std::size_t i = 0; i < kBatch; ++i) signs |= words[i];
        return {(signs & 0x8000) == 0 && Lanes::every(right), Lanes::every(bounds)};
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

    // Not zero where a code is not the whole number nearest to its quotient.
    static Shorts differences(const std::uint8_t* words, float inverse, StoredPlanes stored) {
        Shorts codes[kGroup / kShorts], wrong{};
        Lanes::template unpack_codes<kBits>(stored.codes, stored.high, codes);
        for (std::size_t i = 0; i < kGroup / kShorts; ++i)
            wrong |= (Lanes::nearest(Words{}, words + i * kShorts * sizeof(Word), inverse) << kPlace) ^ codes[i];
        return wrong;
    }

    // The same where quotients may be past the last codes: whether all codes are right.
    [[gnu::noinline]] static bool confirm_bounded(const std::uint8_t* words, float inverse, StoredPlanes stored) {
        alignas(64) std::int16_t codes[kGroup];
        Lanes::template unpack_codes<kBits>(stored.codes, stored.high, reinterpret_cast<Shorts*>(codes));
        Integers wrong{};
        for (std::size_t i = 0; i < kGroup; i += Source::kLanes) {
            const Floats above = Lanes::larger(Source::values(words + i * sizeof(Word)) * inverse, Floats{} + Format::kMin);
            wrong |= (Lanes::nearest(Lanes::smaller(above, Floats{} + Format::kMax)) << kPlace) ^ Lanes::extend(codes + i);
        }
        return Lanes::every(wrong == 0);
    }

    static void add_statistics(const std::uint8_t* words, float scale, StoredPlanes stored, Sums& sums) {
        alignas(64) std::int16_t codes[kGroup];
        Lanes::template unpack_codes<kBits>(stored.codes, stored.high, reinterpret_cast<Shorts*>(codes));
        typename Sums::Elements elements;
        for (std::size_t i = 0; i < kGroup; i += Source::kLanes) {
            const Floats code = __builtin_convertvector(Lanes::extend(codes + i), Floats);
            elements.put(i, code * scale, Source::values(words + i * sizeof(Word)));
        }
        sums.add(elements, kGroup);
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
