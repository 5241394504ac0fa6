// The verifier's own reading of the casts of recipe.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "../dtypes.h"
#include "../findings.h"

namespace ninforge::verify {

// Writes what `count` words become, up to the first that the rule refuses, which is returned; in row 0, column its place.
std::optional<Fault> derive_cast(const std::uint8_t* source, Dtype from, DirectFormat to, CastRule rule,
                                 std::size_t count, std::uint8_t* out);

}  // namespace ninforge::verify
