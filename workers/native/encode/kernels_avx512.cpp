// The encoder's rows, compiled for AVX-512.
#include "cast_words.h"
#include "fp8_rows.h"
#include "grouped_rows.h"
#include "lanes_avx512.h"

namespace ninforge::encode {

const VectorKernels kAvx512Kernels{encode_grouped_rows<Avx512>, encode_fp8_rows<Avx512>, cast_words};

}  // namespace ninforge::encode
