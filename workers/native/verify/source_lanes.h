// Source words over vectors (numeric-formats.md 3.1): as binary32, and the largest of many.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "source_words.h"

namespace ninforge::verify {
namespace {

template <class Lanes, class Words>
struct SourceLanes {
    using Floats = typename Lanes::Floats;
    using Integers = typename Lanes::Integers;
    using Word = typename Words::Word;
    static constexpr std::size_t kLanes = sizeof(Floats) / sizeof(float);

    // The values of the next kLanes words; infinities and NaN are not among them.
    static Floats values(const std::uint8_t* words) {
        if constexpr (std::is_same_v<Words, F32Words>) return load<Floats>(words, 0);
        if constexpr (std::is_same_v<Words, Bf16Words>) return (Floats)(Lanes::extend_words(words) << 16);
        if constexpr (std::is_same_v<Words, F16Words>) return Lanes::binary16(load<typename Lanes::Halves>(words, 0));
    }

    // The largest magnitude of `count` words, a multiple of 32.
    static std::int32_t largest_magnitude(const std::uint8_t* words, std::size_t count) {
        using Magnitudes = std::conditional_t<sizeof(Word) == 2, typename Lanes::Shorts, Integers>;
        constexpr auto kMask = static_cast<std::make_signed_t<Word>>(Words::kSign - 1);
        constexpr std::size_t kStep = 64, kVectors = kStep / sizeof(Magnitudes);
        Magnitudes most[kVectors] = {};
        for (std::size_t at = 0; at < count * sizeof(Word); at += kStep)
            for (std::size_t i = 0; i < kVectors; ++i)
                most[i] = larger(most[i], load<Magnitudes>(words + at, i) & kMask);
        for (std::size_t i = 1; i < kVectors; ++i) most[0] = larger(most[0], most[i]);
        return Lanes::largest(most[0]);
    }

private:
    template <class Vector>
    static Vector larger(Vector a, Vector b) {
        return a > b ? a : b;
    }
};

}  // namespace
}  // namespace ninforge::verify
