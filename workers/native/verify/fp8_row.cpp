#include "fp8_row.h"

#include <algorithm>
#include <utility>

#include "confirmed.h"
#include "e4m3fn.h"
#include "exact.h"
#include "fp8_scale.h"
#include "source_words.h"
#include "statistics.h"
#include "vector_kernels.h"

namespace ninforge::verify {
namespace {

// Whether `code` is the code of a BF16 word: its sign, and the interval in which round_f32(x * inverse) lies. The
// product of two binary32 numbers is exact in binary64, so its conversion is the one rounding.
bool is_code(std::uint32_t bf16, double inverse, unsigned code) {
    const double x = Bf16Words::value(static_cast<std::uint16_t>(bf16));
    const auto normalized = __builtin_bit_cast(std::uint32_t, static_cast<float>(x * inverse));
    const Interval interval = kE4m3fnIntervals[code & 0x7F];
    const std::uint32_t magnitude = normalized & 0x7FFFFFFF;
    return (magnitude >= interval.first) & (magnitude <= interval.last) & (normalized >> 31 == code >> 7);
}

// What a code is worth: one binary32 product.
double decode(unsigned code, double scale) {
    const double magnitude = static_cast<double>(static_cast<float>(kE4m3fnValues[code & 0x7F] * scale));
    return code < 0x80 ? magnitude : -magnitude;
}

template <class Words>
class RowDerivation {
public:
    RowDerivation(std::size_t k, bool statistics, Confirmed confirmed)
        : k_(k), statistics_(statistics), first_(confirmed.rows), result_(std::move(confirmed.derivation)) {}

    Derivation derive(const std::uint8_t* source, std::size_t rows, const std::uint8_t* codes,
                      const std::uint8_t* scales) {
        for (std::size_t row = first_; row < rows; ++row) {
            const std::uint8_t* words = source + row * k_ * sizeof(Word);
            if (!check_row(words, row, codes + row * k_, load<std::uint16_t>(scales, row))) break;
        }
        return std::move(result_);
    }

private:
    using Word = typename Words::Word;

    bool check_row(const std::uint8_t* words, std::size_t row, const std::uint8_t* codes, std::uint32_t scale) {
        const std::uint64_t largest = largest_magnitude<Words>(words, k_);
        // Rounding keeps order, so the largest word gives the largest BF16.
        if (!rounds_to_finite<Words>(largest)) return find_non_finite(words, row);
        const DerivedRowScale derived =
            derive_row_scale(Bf16Words::exact(bf16_of<Words>(static_cast<Word>(largest))));
        if (derived.too_small) return fail({FaultKind::kRowTooSmall, row, 0, derived.word});
        if (scale != derived.word) return mismatch({PlaneName::kScales, row, 0, derived.word, scale});
        if (derived.word == 0) {
            if (!check_zero_row(row, codes)) return false;
        } else if (!check_codes(words, row, codes, derived.inverse)) {
            return false;
        }
        if (statistics_) add_statistics(words, codes, derived.scale);
        return true;
    }

    bool find_non_finite(const std::uint8_t* words, std::size_t row) {
        std::size_t column = 0;
        while (rounds_to_finite<Words>(Words::magnitude(load<Word>(words, column)))) ++column;
        return fail({FaultKind::kNonFinite, row, column, load<Word>(words, column)});
    }

    bool check_zero_row(std::size_t row, const std::uint8_t* codes) {
        const std::uint8_t* wrong = std::find_if(codes, codes + k_, [](std::uint8_t code) { return code != 0; });
        if (wrong == codes + k_) return true;
        return mismatch({PlaneName::kCodes, row, static_cast<std::size_t>(wrong - codes), 0, *wrong});
    }

    bool check_codes(const std::uint8_t* words, std::size_t row, const std::uint8_t* codes, double inverse) {
        bool right = true;
        for (std::size_t i = 0; i < k_; ++i)
            right &= is_code(bf16_of<Words>(load<Word>(words, i)), inverse, codes[i]);
        if (right) return true;
        std::size_t column = 0;
        while (is_code(bf16_of<Words>(load<Word>(words, column)), inverse, codes[column])) ++column;
        unsigned expected = 0;
        while (!is_code(bf16_of<Words>(load<Word>(words, column)), inverse, expected)) ++expected;
        return mismatch({PlaneName::kCodes, row, column, expected, codes[column]});
    }

    void add_statistics(const std::uint8_t* words, const std::uint8_t* codes, double scale) {
        constexpr std::size_t kChunk = 64;
        double x[kChunk], decoded[kChunk];
        for (std::size_t start = 0; start < k_; start += kChunk) {
            const std::size_t count = std::min(kChunk, k_ - start);
            for (std::size_t i = 0; i < count; ++i) {
                x[i] = Words::value(load<Word>(words, start + i));
                decoded[i] = decode(codes[start + i], scale);
            }
            std::fill(x + count, x + kChunk, 0.0);
            std::fill(decoded + count, decoded + kChunk, 0.0);
            sums_.add(decoded, x, kChunk);
        }
        sums_.close(result_);
    }

    bool fail(Fault fault) {
        result_ = {};
        result_.fault = fault;
        return false;
    }

    bool mismatch(Mismatch found) {
        result_ = {};
        result_.mismatch = found;
        return false;
    }

    std::size_t k_;
    bool statistics_;
    std::size_t first_;
    RowStatistics sums_;
    Derivation result_;
};

}  // namespace

Derivation derive_fp8_row(const std::uint8_t* source, Dtype dtype, std::size_t rows, std::size_t k,
                          const std::uint8_t* codes, const std::uint8_t* scales, bool statistics) {
    Confirmed confirmed;
    if (const VectorKernels* vector = vector_kernels()) {
        confirmed = confirm(rows, statistics, [&](ErrorSums* sums) {
            return vector->fp8_row(source, dtype, rows, k, codes, scales, sums);
        });
    }
    switch (dtype) {
        case Dtype::kBf16:
            return RowDerivation<Bf16Words>(k, statistics, std::move(confirmed)).derive(source, rows, codes, scales);
        case Dtype::kF16:
            return RowDerivation<F16Words>(k, statistics, std::move(confirmed)).derive(source, rows, codes, scales);
        default:
            return RowDerivation<F32Words>(k, statistics, std::move(confirmed)).derive(source, rows, codes, scales);
    }
}

}  // namespace ninforge::verify
