#include "instruction_sets.h"

#include <atomic>

namespace ninforge {
namespace {

InstructionSet widest() {
    for (const auto set : {InstructionSet::kAvx512, InstructionSet::kAvx2, InstructionSet::kNeon})
        if (runs_here(set)) return set;
    return InstructionSet::kPortable;
}

std::atomic<InstructionSet> chosen{widest()};

}  // namespace

bool is_compiled(InstructionSet set) {
#if defined(__x86_64__)
    return set != InstructionSet::kNeon;
#elif defined(__aarch64__)
    return set == InstructionSet::kPortable || set == InstructionSet::kNeon;
#else
    return set == InstructionSet::kPortable;
#endif
}

bool runs_here(InstructionSet set) {
#if defined(__x86_64__)
    const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("f16c");
    if (set == InstructionSet::kAvx2) return avx2;
    if (set == InstructionSet::kAvx512)
        return avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
               __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
#endif
    return is_compiled(set);   // every AArch64 processor has NEON
}

InstructionSet instruction_set() { return chosen.load(std::memory_order_relaxed); }

void choose(InstructionSet set) { chosen.store(set, std::memory_order_relaxed); }

}  // namespace ninforge
