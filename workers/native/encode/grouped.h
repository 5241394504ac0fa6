// Encoder profile MAXABS_F16_RECIP_RNE_V1 over blocks of rows, into planes of row-split-k128-v1.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "../dtypes.h"
#include "../findings.h"

namespace ninforge::encode {

// Where the three planes of a block of rows go; `high` is unused at 4 and 8 bits.
struct GroupedPlanes {
    std::uint8_t* codes;
    std::uint8_t* high;
    std::uint8_t* scales;
};

// Encodes `rows` rows of k words. Stops at the first group, in row-major order, that the profile refuses.
// dtype is BF16, F16 or F32; code_bits 4, 5, 6 or 8.
std::optional<Fault> encode_grouped(const std::uint8_t* source, Dtype dtype, int code_bits, std::size_t rows,
                                    std::size_t k, GroupedPlanes planes);

}  // namespace ninforge::encode
