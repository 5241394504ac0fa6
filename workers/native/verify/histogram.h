// Counts of the words of quantized planes: every code by its bits, scales in bins an eighth of a binade wide.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "grouped.h"

namespace ninforge::verify {

// `codes[w]` counts the elements whose code has the bits w, padding left out. A bin holds the scales that agree in
// exponent and the first three bits of the fraction, zero apart, in ascending order.
struct Histogram {
    std::vector<std::uint64_t> codes;
    std::vector<std::uint64_t> scales;
    std::uint64_t zero_scales = 0;
};

// All take planes whose words and padding are legal.
Histogram histogram_grouped(int code_bits, std::size_t rows, std::size_t k, StoredPlanes stored);
Histogram histogram_fp8_row(std::size_t rows, std::size_t k, const std::uint8_t* codes, const std::uint8_t* scales);

// Scales may be in any order; k is a multiple of 64.
Histogram histogram_nvfp4(std::size_t rows, std::size_t k, const std::uint8_t* codes, const std::uint8_t* scales);

}  // namespace ninforge::verify
