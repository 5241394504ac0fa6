// The verifier's own reading of the casts of recipe.md.
#pragma once

#include <cstddef>
#include <cstdint>

#include "../dtypes.h"
#include "../findings.h"

namespace ninforge::verify {

// The first of `count` words that the rule refuses, or whose stored result is another one; in row 0, column its place.
Finding derive_cast(const std::uint8_t* source, Dtype from, DirectFormat to, CastRule rule, std::size_t count,
                    const std::uint8_t* words);

}  // namespace ninforge::verify
