// Reading codes out of the planes of row-split-k128-v1 (storage-layouts.md), lane by lane.
#pragma once

#include <cstdint>

namespace ninforge::verify {

template <int kBits>
struct GroupedFormat {
    static constexpr int kGroup = kBits == 8 ? 32 : 64;
    static constexpr int kBaseBytes = 32;
    static constexpr int kHighBytes = kBits == 5 ? 8 : kBits == 6 ? 16 : 0;
    static constexpr int kLow = kBits == 8 ? 8 : 4;   // bits of a code in the base plane
    static constexpr int kMax = (1 << (kBits - 1)) - 1;
    static constexpr int kMin = kBits == 8 ? -127 : -(1 << (kBits - 1));
};

// What the high plane holds of a lane: kBits - 4 bits, lanes in order from bit 0 of each byte.
template <int kBits>
unsigned high_bits(const std::uint8_t* high, int lane) {
    constexpr int kWidth = kBits - 4, kPerByte = 8 / kWidth;
    return static_cast<unsigned>(high[lane / kPerByte]) >> (lane % kPerByte * kWidth) & ((1u << kWidth) - 1);
}

// The unsigned word of a lane's code.
template <int kBits>
unsigned code_word(const std::uint8_t* base, const std::uint8_t* high, int lane) {
    if constexpr (kBits == 8) return base[lane];
    const unsigned low = static_cast<unsigned>(base[lane / 2]) >> (lane % 2 * 4) & 15;
    if constexpr (kBits == 5 || kBits == 6) return low | high_bits<kBits>(high, lane) << 4;
    return low;
}

// The signed code of a word.
template <int kBits>
int signed_code(unsigned word) {
    constexpr int kSign = 1 << (kBits - 1);
    return (static_cast<int>(word) ^ kSign) - kSign;
}

}  // namespace ninforge::verify
