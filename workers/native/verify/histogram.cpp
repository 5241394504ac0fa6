#include "histogram.h"

#include <algorithm>
#include <array>

#include "../row_split.h"
#include "grouped_codes.h"
#include "source_words.h"

namespace ninforge::verify {
namespace {

// Counters of one kind of word in several tables, taken by turns: where equal words follow each other, no increment
// waits for the store of the one before it.
template <std::size_t kWords, std::size_t kTables>
class Counters {
public:
    // Words between two drains: too few to overflow a counter, and enough for draining to cost nothing beside.
    static constexpr std::size_t kMost = std::size_t{1} << 22;

    std::uint32_t* table(std::size_t number) { return counts_[number % kTables].data(); }

    // Calls `take(word, count)` for every word, and begins anew.
    template <class Take>
    void drain(Take take) {
        for (std::size_t word = 0; word < kWords; ++word) {
            std::uint64_t count = 0;
            for (const auto& table : counts_) count += table[word];
            take(word, count);
        }
        counts_ = {};
    }

private:
    std::array<std::array<std::uint32_t, kWords>, kTables> counts_{};
};

std::vector<std::uint64_t> count_bytes(const std::uint8_t* bytes, std::size_t count) {
    using Bytes = Counters<256, 8>;
    std::vector<std::uint64_t> totals(256);
    Bytes counters;
    for (std::size_t start = 0; start < count; start += Bytes::kMost) {
        const std::size_t stop = std::min(count, start + Bytes::kMost), whole = start + (stop - start) / 8 * 8;
        for (std::size_t i = start; i < whole; i += 8) {
            const auto word = load<std::uint64_t>(bytes + i, 0);
            for (std::size_t j = 0; j < 8; ++j) ++counters.table(j)[word >> (8 * j) & 0xFF];
        }
        for (std::size_t i = whole; i < stop; ++i) ++counters.table(0)[bytes[i]];
        counters.drain([&](std::size_t word, std::uint64_t found) { totals[word] += found; });
    }
    return totals;
}

// Codes of 4 to 6 bits are counted two at a time: a byte of the base plane and the bits of both in the high plane.
template <int kBits>
std::vector<std::uint64_t> count_pairs(std::size_t groups, StoredPlanes stored) {
    using Format = GroupedFormat<kBits>;
    constexpr std::size_t kHigh = kBits - 4, kMask = (1u << kHigh) - 1;   // bits of one code in the high plane
    constexpr std::size_t kPairMask = (1u << 2 * kHigh) - 1;
    using Pairs = Counters<256u << 2 * kHigh, kBits == 6 ? 2 : 4>;
    constexpr std::size_t kMost = Pairs::kMost / Format::kBaseBytes;
    std::vector<std::uint64_t> totals(1u << kBits);
    Pairs counters;
    for (std::size_t start = 0; start < groups; start += kMost) {
        for (std::size_t g = start; g < std::min(groups, start + kMost); ++g) {
            const std::uint8_t* base = stored.codes + g * Format::kBaseBytes;
            const std::uint8_t* high = stored.high + g * Format::kHighBytes;
            for (std::size_t i = 0; i < Format::kBaseBytes / 8; ++i) {
                const auto low = load<std::uint64_t>(base, i);
                std::uint64_t above = 0;
                if constexpr (kBits == 5) above = load<std::uint16_t>(high, i);
                if constexpr (kBits == 6) above = load<std::uint32_t>(high, i);
                for (std::size_t j = 0; j < 8; ++j)
                    ++counters.table(j)[(low >> 8 * j & 0xFF) | (above >> 2 * kHigh * j & kPairMask) << 8];
            }
        }
        counters.drain([&](std::size_t pair, std::uint64_t found) {
            totals[(pair & 15) | (pair >> 8 & kMask) << 4] += found;
            totals[(pair >> 4 & 15) | (pair >> (8 + kHigh) & kMask) << 4] += found;
        });
    }
    return totals;
}

// `kShift` bits of a word say where it lies in its bin; the sign, which is 0, is left out of `kBins`.
template <class Word, int kShift, std::size_t kBins>
void count_scales(const std::uint8_t* scales, std::size_t count, Histogram& histogram) {
    histogram.scales.resize(kBins);
    for (std::size_t i = 0; i < count; ++i) {
        const unsigned word = load<Word>(scales, i);
        histogram.zero_scales += word == 0;
        histogram.scales[(word >> kShift) % kBins] += word != 0;
    }
}

std::vector<std::uint64_t> count_grouped(int code_bits, std::size_t groups, StoredPlanes stored) {
    switch (code_bits) {
        case 4:
            return count_pairs<4>(groups, stored);
        case 5:
            return count_pairs<5>(groups, stored);
        case 6:
            return count_pairs<6>(groups, stored);
        default:
            return count_bytes(stored.codes, groups * RowSplit::kBaseBytes);
    }
}

}  // namespace

Histogram histogram_grouped(int code_bits, std::size_t rows, std::size_t k, StoredPlanes stored) {
    const RowSplit split = RowSplit::of(code_bits, k);
    Histogram histogram;
    histogram.codes = count_grouped(code_bits, rows * split.groups, stored);
    histogram.codes[0] -= rows * (split.groups * split.group - k);
    const std::size_t groups = (k + split.group - 1) / split.group;   // those that are not all padding
    if (groups == split.groups) {
        count_scales<std::uint16_t, 7, 256>(stored.scales, rows * groups, histogram);
    } else {
        for (std::size_t row = 0; row < rows; ++row)
            count_scales<std::uint16_t, 7, 256>(stored.scales + row * split.scale_row(), groups, histogram);
    }
    return histogram;
}

Histogram histogram_fp8_row(std::size_t rows, std::size_t k, const std::uint8_t* codes, const std::uint8_t* scales) {
    Histogram histogram;
    histogram.codes = count_bytes(codes, rows * k);
    count_scales<std::uint16_t, 4, 2048>(scales, rows, histogram);
    return histogram;
}

Histogram histogram_nvfp4(std::size_t rows, std::size_t k, const std::uint8_t* codes, const std::uint8_t* scales) {
    constexpr std::size_t kGroup = 16;
    Histogram histogram;
    histogram.codes = count_pairs<4>(rows * k / GroupedFormat<4>::kGroup, {codes, nullptr, nullptr});   // packed alike
    count_scales<std::uint8_t, 0, 128>(scales, rows * k / kGroup, histogram);
    return histogram;
}

}  // namespace ninforge::verify
