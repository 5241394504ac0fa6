// The instruction sets that vector kernels are compiled for, and which of them runs.
#pragma once

#include <array>
#include <utility>

namespace ninforge {

enum class InstructionSet { kPortable, kAvx2, kAvx512, kNeon };

inline constexpr std::array<std::pair<const char*, InstructionSet>, 4> kInstructionSets{{
    {"portable", InstructionSet::kPortable},
    {"avx2", InstructionSet::kAvx2},
    {"avx512", InstructionSet::kAvx512},
    {"neon", InstructionSet::kNeon},
}};

// Whether kernels for it were compiled into this library, and whether this processor has it.
bool is_compiled(InstructionSet set);
bool runs_here(InstructionSet set);

// The set that kernels use: the widest that runs here, unless another was chosen. One that does not run must not be.
InstructionSet instruction_set();
void choose(InstructionSet set);

}  // namespace ninforge
