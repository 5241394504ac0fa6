// The encoder's rows, compiled for NEON.
#include "cast_words.h"
#include "fp8_rows.h"
#include "grouped_rows.h"
#include "lanes_neon.h"

namespace ninforge::encode {

const VectorKernels kNeonKernels{encode_grouped_rows<Neon>, encode_fp8_rows<Neon>, cast_words};

}  // namespace ninforge::encode
