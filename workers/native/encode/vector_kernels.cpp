#include "vector_kernels.h"

#include "../instruction_sets.h"

namespace ninforge::encode {

const VectorKernels* vector_kernels() {
    switch (instruction_set()) {
#if defined(__x86_64__)
        case InstructionSet::kAvx2:
            return &kAvx2Kernels;
        case InstructionSet::kAvx512:
            return &kAvx512Kernels;
#elif defined(__aarch64__)
        case InstructionSet::kNeon:
            return &kNeonKernels;
#endif
        default:
            return nullptr;
    }
}

}  // namespace ninforge::encode
