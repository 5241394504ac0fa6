// The verifier's rows, compiled for NEON.
#include "cast_words.h"
#include "fp8_rows.h"
#include "grouped_rows.h"
#include "lanes_neon.h"

namespace ninforge::verify {

const VectorKernels kNeonKernels{confirm_grouped_rows<Neon>, confirm_fp8_rows<Neon>, derive_words};

}  // namespace ninforge::verify
