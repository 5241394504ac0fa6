// Asking for memory before it is read.
#pragma once

#include <cstddef>
#include <cstdint>

namespace ninforge {
// Unnamed, so that an object file compiled for one instruction set never lends its copy to another.
namespace {

// How far processors look ahead by themselves: not past a page.
inline constexpr std::size_t kPage = 4096;

// Asks for `bytes` bytes that lie `ahead` bytes behind those at `from`. Nothing needs to be there.
inline void prefetch(const void* from, std::size_t ahead, std::size_t bytes) {
    constexpr std::size_t kLine = 64;
    const auto address = reinterpret_cast<std::uintptr_t>(from) + ahead;
    for (std::size_t i = 0; i < bytes; i += kLine) __builtin_prefetch(reinterpret_cast<const void*>(address + i));
}

// The same for one line that is used much later.
inline void prefetch_early(const void* from, std::size_t ahead) {
    __builtin_prefetch(reinterpret_cast<const void*>(reinterpret_cast<std::uintptr_t>(from) + ahead), 0, 2);
}

}  // namespace
}  // namespace ninforge
