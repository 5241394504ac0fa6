// The verifier's rows, compiled for AVX2.
#include "cast_words.h"
#include "fp8_rows.h"
#include "grouped_rows.h"
#include "lanes_avx2.h"

namespace ninforge::verify {

const VectorKernels kAvx2Kernels{confirm_grouped_rows<Avx2>, confirm_fp8_rows<Avx2>, derive_words};

}  // namespace ninforge::verify
