// The verifier's rows, compiled for AVX2.
#include "fp8_rows.h"
#include "grouped_rows.h"
#include "lanes_avx2.h"

namespace ninforge::verify {

const VectorKernels kAvx2Kernels{confirm_grouped_rows<Avx2>, confirm_fp8_rows<Avx2>};

}  // namespace ninforge::verify
