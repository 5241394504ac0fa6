// The multiplier of a row of FP8_E4M3FN_ROW_BF16S by the profile of targets.md, in integers.
#pragma once

#include <cstdint>

#include "exact.h"
#include "source_words.h"

namespace ninforge::verify {
namespace {

// Multiplier and reciprocal of one row.
struct DerivedRowScale {
    std::uint32_t word = 0;
    double scale = 0.0;
    double inverse = 0.0;
    bool too_small = false;
};

// Of the row's largest magnitude, rounded to BF16.
inline DerivedRowScale derive_row_scale(Exact amax) {
    if (amax.mantissa == 0) return {};
    const Exact raw = round_quotient(amax, 448, kBinary32);
    Exact scale = round_to(raw, kBfloat16);
    if (scale.mantissa == 0) scale = {1, kBfloat16.least};
    const Exact inverse = round_quotient({1, -scale.exponent}, scale.mantissa, kBinary32);
    const std::uint32_t word = word_of(scale, kBfloat16);
    if (overflows(inverse, kBinary32)) return {word, 0.0, 0.0, true};
    return {word, to_double(scale), to_double(inverse), false};
}

// A source word rounded to BF16, as a BF16 word.
template <class Words>
std::uint32_t bf16_of(typename Words::Word word) {
    return nearest_bf16(__builtin_bit_cast(std::uint32_t, static_cast<float>(Words::value(word))));
}

// Whether a source word of this magnitude is a finite BF16 once rounded.
template <class Words>
bool rounds_to_finite(std::uint64_t magnitude) {
    return magnitude < Words::kInfinity &&
           bf16_of<Words>(static_cast<typename Words::Word>(magnitude)) < Bf16Words::kInfinity;
}

}  // namespace
}  // namespace ninforge::verify
