// Error statistics of rows over vectors, added in the order of statistics.h: element i of a row goes to partial sum
// i mod 8.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "source_words.h"
#include "vector_kernels.h"

namespace ninforge::verify {
namespace {

template <class Lanes, class Word>
class RowSums {
public:
    using Floats = typename Lanes::Floats;

    // The difference of a decoded weight and a source word of 16 bits is a binary32 number: both are whole numbers of a
    // unit that goes into the larger of the two, and so into the difference, less than 2^24 times.
    static constexpr bool kExact = sizeof(Word) == 2;

    // Some elements of a row: the source, and what they decode to, or the difference where that is exact.
    struct Elements {
        static constexpr std::size_t kMost = 64;

        // Puts down as many as Floats has lanes.
        void put(std::size_t at, Floats weights, Floats values) {
            const Floats kept = kExact ? weights - values : weights;
            std::memcpy(decoded + at, &kept, sizeof(kept));
            std::memcpy(source + at, &values, sizeof(values));
        }

        alignas(64) float decoded[kMost];
        alignas(64) float source[kMost];
    };

    // Adds the next `count` elements of a row, a multiple of kPartials.
    void add(const Elements& elements, std::size_t count) {
        Doubles errors[kVectors], signals[kVectors], largest = largest_;
        std::memcpy(errors, error_, sizeof(errors));
        std::memcpy(signals, signal_, sizeof(signals));
        // Unrolled, the loop would have more vectors than the processor has registers.
#pragma GCC unroll 2
        for (std::size_t i = 0; i < count; i += kPartials) {
            for (std::size_t j = 0; j < kVectors; ++j) {
                const Doubles source = Lanes::doubles(elements.source + i + j * kDoubles);
                const Doubles decoded = Lanes::doubles(elements.decoded + i + j * kDoubles);
                const Doubles error = kExact ? decoded : decoded - source;
                errors[j] += error * error;
                signals[j] += source * source;
                if constexpr (!kExact) largest = Lanes::larger(absolute(error), largest);
            }
        }
        if constexpr (kExact) {
            const auto* decoded = reinterpret_cast<const std::uint8_t*>(elements.decoded);
            Floats largest_float = largest_float_;
            for (std::size_t i = 0; i < count * sizeof(float) / sizeof(Floats); ++i)
                largest_float = Lanes::larger((Floats)(load<Integers>(decoded, i) & 0x7FFFFFFF), largest_float);
            largest_float_ = largest_float;
        }
        std::memcpy(error_, errors, sizeof(errors));
        std::memcpy(signal_, signals, sizeof(signals));
        largest_ = largest;
    }

    // Ends a row.
    void close(std::size_t row, ErrorSums& sums) {
        sums.row_error[row] = total(error_);
        sums.row_signal[row] = total(signal_);
        double wide[kDoubles];
        float narrow[2 * kDoubles];
        std::memcpy(wide, &largest_, sizeof(wide));
        std::memcpy(narrow, &largest_float_, sizeof(narrow));
        for (const double error : wide) sums.max_abs = error > sums.max_abs ? error : sums.max_abs;
        for (const double error : narrow) sums.max_abs = error > sums.max_abs ? error : sums.max_abs;
        *this = RowSums{};
    }

private:
    using Doubles = typename Lanes::Doubles;
    using Integers = typename Lanes::Integers;
    static constexpr std::size_t kPartials = 8, kDoubles = sizeof(Doubles) / sizeof(double);
    static constexpr std::size_t kVectors = kPartials / kDoubles;

    static Doubles absolute(Doubles values) { return (Doubles)((typename Lanes::Longs)values & INT64_MAX); }

    static double total(const Doubles* partials) {
        double s[kPartials];
        std::memcpy(s, partials, sizeof(s));
        return ((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7]));
    }

    Doubles error_[kVectors] = {};
    Doubles signal_[kVectors] = {};
    Doubles largest_{};
    Floats largest_float_{};
};

}  // namespace
}  // namespace ninforge::verify
