// What each instruction set offers the verifier: whole rows, confirmed.
//
// A vector kernel returns how many rows it has confirmed before the first that is not what the source gives. It says
// neither why nor where: the portable derivation goes on from there, and finds it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "../dtypes.h"
#include "grouped.h"

namespace ninforge::verify {

// Where the error statistics of confirmed rows go: a sum a row, and the largest error of all.
struct ErrorSums {
    double* row_error;
    double* row_signal;
    double max_abs;
};

struct VectorKernels {
    // `sums` is null where no statistics are asked for.
    std::size_t (*grouped)(const std::uint8_t* source, Dtype dtype, int code_bits, std::size_t rows, std::size_t k,
                           StoredPlanes stored, ErrorSums* sums);
    std::size_t (*fp8_row)(const std::uint8_t* source, Dtype dtype, std::size_t rows, std::size_t k,
                           const std::uint8_t* codes, const std::uint8_t* scales, ErrorSums* sums);
    // Casts of recipe.md; returns how many words it has made before some of which the rule refuses one.
    std::size_t (*cast)(const std::uint8_t* source, Dtype from, DirectFormat to, CastRule rule, std::size_t count,
                        std::uint8_t* out);
};

extern const VectorKernels kAvx2Kernels, kAvx512Kernels, kNeonKernels;

// Those of the instruction set in use; none where it is the portable one.
const VectorKernels* vector_kernels();

}  // namespace ninforge::verify
