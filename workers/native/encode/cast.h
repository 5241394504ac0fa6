// The casts of recipe.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "../dtypes.h"
#include "../findings.h"

namespace ninforge::encode {

// Casts `count` words, where cast_exists(from, to, rule). Row 0 and the word's place are a fault's coordinate.
std::optional<Fault> cast(const std::uint8_t* source, Dtype from, DirectFormat to, CastRule rule, std::size_t count,
                          std::uint8_t* out);

}  // namespace ninforge::encode
