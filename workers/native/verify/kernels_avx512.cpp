// The verifier's rows, compiled for AVX-512.
#include "cast_words.h"
#include "fp8_rows.h"
#include "grouped_rows.h"
#include "lanes_avx512.h"

namespace ninforge::verify {

const VectorKernels kAvx512Kernels{confirm_grouped_rows<Avx512>, confirm_fp8_rows<Avx512>, derive_words};

}  // namespace ninforge::verify
