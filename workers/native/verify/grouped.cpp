#include "grouped.h"

#include <algorithm>
#include <utility>

#include "../row_split.h"
#include "confirmed.h"
#include "exact.h"
#include "grouped_codes.h"
#include "source_words.h"
#include "statistics.h"
#include "vector_kernels.h"

namespace ninforge::verify {
namespace {

// Scale and reciprocal of one group: section 7, in integers.
struct DerivedScale {
    std::uint32_t word = 0;
    double scale = 0.0;
    double inverse = 0.0;
    bool overflow = false;
};

DerivedScale derive_scale(Exact amax, int qmax) {
    if (amax.mantissa == 0) return {};
    const Exact raw = round_quotient(amax, static_cast<std::uint64_t>(qmax), kBinary32);
    Exact scale = round_to(raw, kBinary16);
    if (overflows(scale, kBinary16)) return {0, 0.0, 0.0, true};
    if (scale.mantissa == 0) scale = {1, kBinary16.least};
    const Exact inverse = round_quotient({1, -scale.exponent}, scale.mantissa, kBinary32);
    return {word_of(scale, kBinary16), to_double(scale), to_double(inverse), false};
}

// round_f32(x * inverse) within the bounds of the codes. The product of two binary32 numbers is exact in binary64, so
// its conversion is the one rounding.
template <int kBits>
float clamped_quotient(double x, double inverse) {
    constexpr float kMin = GroupedFormat<kBits>::kMin, kMax = GroupedFormat<kBits>::kMax;
    const auto normalized = static_cast<float>(x * inverse);
    const float above = normalized > kMin ? normalized : kMin;
    return above < kMax ? above : kMax;
}

// Not negative for just one legal code: the nearest to the quotient, the even one of two equally near.
double slack(float quotient, int code) {
    const double distance = __builtin_fabs(static_cast<double>(quotient) - static_cast<double>(code));
    return 0.5 - static_cast<double>(code & 1) * 0x1p-54 - distance;   // an odd code does not reach a tie
}

template <class Words, int kBits>
class GroupedDerivation {
public:
    GroupedDerivation(std::size_t k, bool statistics, Confirmed confirmed)
        : k_(k), statistics_(statistics), first_(confirmed.rows), result_(std::move(confirmed.derivation)) {}

    Derivation derive(const std::uint8_t* source, std::size_t rows, StoredPlanes stored) {
        const RowSplit split = RowSplit::of(kBits, k_);
        for (std::size_t row = first_; row < rows; ++row) {
            for (std::size_t group = 0; group < split.groups; ++group) {
                const std::size_t index = row * split.groups + group;
                const std::size_t column = group * kGroup;
                const std::size_t lanes = std::min(kGroup, k_ - std::min(k_, column));
                const std::uint8_t* words = source + (row * k_ + std::min(k_, column)) * sizeof(Word);
                const Place place{row, column, stored.codes + index * Format::kBaseBytes,
                                  stored.high + index * Format::kHighBytes, load<std::uint16_t>(stored.scales, index)};
                if (!check_group(words, lanes, place)) return std::move(result_);
            }
            if (statistics_) sums_.close(result_);
        }
        return std::move(result_);
    }

private:
    using Format = GroupedFormat<kBits>;
    using Word = typename Words::Word;
    static constexpr std::size_t kGroup = Format::kGroup;

    // A stored group and where it lies.
    struct Place {
        std::size_t row;
        std::size_t column;
        const std::uint8_t* base;
        const std::uint8_t* high;
        std::uint32_t scale;
    };

    bool check_group(const std::uint8_t* words, std::size_t lanes, const Place& place) {
        const std::uint64_t largest = largest_magnitude<Words>(words, lanes);
        if (largest >= Words::kInfinity) return fail(words, place, FaultKind::kNonFinite, Words::kInfinity);
        const DerivedScale derived = derive_scale(Words::exact(largest), Format::kMax);
        if (derived.overflow) return fail(words, place, FaultKind::kScaleOverflow, largest);
        if (place.scale != derived.word)
            return mismatch(PlaneName::kScales, place, 0, derived.word, place.scale);

        double x[kGroup];
        std::uint8_t unpacked[kGroup];
        int codes[kGroup];
        for (std::size_t i = 0; i < lanes; ++i) x[i] = Words::value(load<Word>(words, i));
        std::fill(x + lanes, x + kGroup, 0.0);   // lanes past the row count as zeros: their code is 0
        unpack_codes<kBits>(place.base, place.high, unpacked);
        for (std::size_t i = 0; i < kGroup; ++i) codes[i] = signed_code<kBits>(unpacked[i]);
        float quotients[kGroup];
        for (std::size_t i = 0; i < kGroup; ++i) quotients[i] = clamped_quotient<kBits>(x[i], derived.inverse);
        std::int64_t signs = 0;
        for (std::size_t i = 0; i < kGroup; ++i)
            signs |= __builtin_bit_cast(std::int64_t, slack(quotients[i], codes[i]));
        if (signs < 0) return find_code(quotients, codes, place);
        if (statistics_) add_statistics(x, codes, derived.scale);
        return true;
    }

    void add_statistics(const double* x, const int* codes, double scale) {
        double decoded[kGroup];
        for (std::size_t i = 0; i < kGroup; ++i) decoded[i] = static_cast<double>(codes[i]) * scale;
        sums_.add(decoded, x, kGroup);
    }

    // The fault of the first word of at least this magnitude.
    bool fail(const std::uint8_t* words, const Place& place, FaultKind kind, std::uint64_t least) {
        std::size_t lane = 0;
        while (Words::magnitude(load<Word>(words, lane)) < least) ++lane;
        result_ = {};
        result_.fault = Fault{kind, place.row, place.column + lane, load<Word>(words, lane)};
        return false;
    }

    bool mismatch(PlaneName plane, const Place& place, std::size_t lane, std::uint32_t expected, std::uint32_t found) {
        result_ = {};
        result_.mismatch = Mismatch{plane, place.row, place.column + lane, expected, found};
        return false;
    }

    bool find_code(const float* quotients, const int* codes, const Place& place) {
        std::size_t lane = 0;
        while (slack(quotients[lane], codes[lane]) >= 0.0) ++lane;
        int right = Format::kMin;
        while (slack(quotients[lane], right) < 0.0) ++right;
        constexpr std::uint32_t kMask = (1u << kBits) - 1;
        const std::uint32_t expected = static_cast<std::uint32_t>(right) & kMask;
        const std::uint32_t found = static_cast<std::uint32_t>(codes[lane]) & kMask;
        constexpr std::uint32_t kLowMask = (1u << Format::kLow) - 1;
        if (((expected ^ found) & kLowMask) != 0)
            return mismatch(PlaneName::kCodes, place, lane, expected & kLowMask, found & kLowMask);
        return mismatch(PlaneName::kHigh, place, lane, expected >> Format::kLow, found >> Format::kLow);
    }

    std::size_t k_;
    bool statistics_;
    std::size_t first_;
    RowStatistics sums_;
    Derivation result_;
};

template <class Words>
Derivation derive_source(const std::uint8_t* source, int code_bits, std::size_t rows, std::size_t k,
                         StoredPlanes stored, bool statistics, Confirmed confirmed) {
    switch (code_bits) {
        case 4:
            return GroupedDerivation<Words, 4>(k, statistics, std::move(confirmed)).derive(source, rows, stored);
        case 5:
            return GroupedDerivation<Words, 5>(k, statistics, std::move(confirmed)).derive(source, rows, stored);
        case 6:
            return GroupedDerivation<Words, 6>(k, statistics, std::move(confirmed)).derive(source, rows, stored);
        default:
            return GroupedDerivation<Words, 8>(k, statistics, std::move(confirmed)).derive(source, rows, stored);
    }
}

}  // namespace

Derivation derive_grouped(const std::uint8_t* source, Dtype dtype, int code_bits, std::size_t rows, std::size_t k,
                          StoredPlanes stored, bool statistics) {
    Confirmed confirmed;
    if (const VectorKernels* vector = vector_kernels()) {
        confirmed = confirm(rows, statistics, [&](ErrorSums* sums) {
            return vector->grouped(source, dtype, code_bits, rows, k, stored, sums);
        });
    }
    switch (dtype) {
        case Dtype::kBf16:
            return derive_source<Bf16Words>(source, code_bits, rows, k, stored, statistics, std::move(confirmed));
        case Dtype::kF16:
            return derive_source<F16Words>(source, code_bits, rows, k, stored, statistics, std::move(confirmed));
        default:
            return derive_source<F32Words>(source, code_bits, rows, k, stored, statistics, std::move(confirmed));
    }
}

}  // namespace ninforge::verify
