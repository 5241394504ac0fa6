// Reading codes out of the planes of row-split-k128-v1 (storage-layouts.md), lane by lane.
#pragma once

#include <cstdint>

namespace ninforge::verify {
// Unnamed, so that an object file compiled for one instruction set never lends its copy to another.
namespace {

template <int kBits>
struct GroupedFormat {
    static constexpr int kGroup = kBits == 8 ? 32 : 64;
    static constexpr int kBaseBytes = 32;
    static constexpr int kHighBytes = kBits == 5 ? 8 : kBits == 6 ? 16 : 0;
    static constexpr int kLow = kBits == 8 ? 8 : 4;   // bits of a code in the base plane
    static constexpr int kMax = (1 << (kBits - 1)) - 1;
    static constexpr int kMin = kBits == 8 ? -127 : -(1 << (kBits - 1));
};

// The unsigned words of a group's codes, one a lane.
template <int kBits>
void unpack_codes(const std::uint8_t* base, const std::uint8_t* high, std::uint8_t* words) {
    using Format = GroupedFormat<kBits>;
    if constexpr (kBits == 8) {
        for (int lane = 0; lane < Format::kGroup; ++lane) words[lane] = base[lane];
    } else {
        for (int j = 0; j < Format::kGroup / 2; ++j) {
            words[2 * j] = static_cast<std::uint8_t>(base[j] & 15);
            words[2 * j + 1] = static_cast<std::uint8_t>(base[j] >> 4);
        }
    }
    // The high plane holds kBits - 4 bits a lane, lanes in order from bit 0 of each byte.
    if constexpr (Format::kHighBytes > 0) {
        constexpr int kWidth = kBits - 4, kPerByte = 8 / kWidth, kMask = (1 << kWidth) - 1;
        for (int t = 0; t < Format::kHighBytes; ++t)
            for (int i = 0; i < kPerByte; ++i)
                words[kPerByte * t + i] = static_cast<std::uint8_t>(words[kPerByte * t + i] |
                                                                    (high[t] >> (kWidth * i) & kMask) << 4);
    }
}

// The signed code of a word.
template <int kBits>
int signed_code(unsigned word) {
    constexpr int kSign = 1 << (kBits - 1);
    return (static_cast<int>(word) ^ kSign) - kSign;
}

}  // namespace
}  // namespace ninforge::verify
