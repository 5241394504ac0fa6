// What each instruction set offers: whole rows, encoded as encoder.h says, group by group.
//
// A vector kernel encodes rows up to the first that the profile refuses and returns their number. It says neither why nor
// where: the portable kernels go on from there, and find it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "../dtypes.h"
#include "grouped.h"

namespace ninforge::encode {

struct VectorKernels {
    std::size_t (*grouped)(const std::uint8_t* source, Dtype dtype, int code_bits, std::size_t rows, std::size_t k,
                           GroupedPlanes planes);
    std::size_t (*fp8_row)(const std::uint8_t* source, Dtype dtype, std::size_t rows, std::size_t k,
                           std::uint8_t* codes, std::uint8_t* scales);
    // Casts of recipe.md; stops before some words of which the rule refuses one.
    std::size_t (*cast)(const std::uint8_t* source, Dtype from, DirectFormat to, CastRule rule, std::size_t count,
                        std::uint8_t* out);
};

extern const VectorKernels kAvx2Kernels, kAvx512Kernels, kNeonKernels;

// Those of the instruction set in use; none where it is the portable one.
const VectorKernels* vector_kernels();

}  // namespace ninforge::encode
