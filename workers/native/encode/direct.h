// What recipe.md lets an object demand of direct words: `nonfinite: reject` and `require: positive`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "../dtypes.h"
#include "../findings.h"

namespace ninforge::encode {

// The first of `count` words that is infinite or NaN; rows have `columns` words. dtype is BF16 or F32.
std::optional<Fault> check_finite(const std::uint8_t* words, Dtype dtype, std::size_t count, std::size_t columns);

// The first of `count` words that is not finite, or not above zero. dtype is F32 or I32.
std::optional<Fault> check_positive(const std::uint8_t* words, Dtype dtype, std::size_t count, std::size_t columns);

}  // namespace ninforge::encode
