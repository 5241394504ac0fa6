// Encoder profile FP8_ROW_MAXABS_RECIP_RNE_V1 (targets.md) over blocks of rows, into planes of row-scale-v1.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "../dtypes.h"
#include "../findings.h"

namespace ninforge::encode {

// Encodes `rows` rows of k words into rows * k codes and rows BF16 multipliers. Stops at the first row that the profile
// refuses. dtype is BF16, F16 or F32.
std::optional<Fault> encode_fp8_row(const std::uint8_t* source, Dtype dtype, std::size_t rows, std::size_t k,
                                    std::uint8_t* codes, std::uint8_t* scales);

}  // namespace ninforge::encode
