// The encoder's rows, compiled for AVX2 and F16C.
#include "cast_words.h"
#include "fp8_rows.h"
#include "grouped_rows.h"
#include "lanes_avx2.h"

namespace ninforge::encode {

const VectorKernels kAvx2Kernels{encode_grouped_rows<Avx2>, encode_fp8_rows<Avx2>, cast_words};

}  // namespace ninforge::encode
