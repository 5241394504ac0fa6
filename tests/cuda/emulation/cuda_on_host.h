// CUDA's words for a host compiler: kernels run on the CPU, every thread of grid and block as a fiber of its own.
//
// A fiber runs until it needs its warp (a shuffle) or its block (a barrier). When all lanes of a warp have come to their
// shuffle it goes on, and so at a barrier for all warps of a block. Lanes of a warp that wait for different things, or
// of which some have ended, are an error: a device would hang or read words that nobody gave. Blocks run one by one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#define __global__
#define __device__
#define __shared__ static
#define __forceinline__ inline __attribute__((always_inline))
#define __launch_bounds__(threads)

struct alignas(16) uint4 {
    unsigned int x, y, z, w;
};
struct alignas(8) uint2 {
    unsigned int x, y;
};

namespace emulation {

struct Position {
    unsigned int x, y, z;
};

struct Fiber;
extern Fiber* current;

Position thread_position();
Position block_position();
Position block_extent();

// Gives the warp a word and takes the one that another lane gave.
std::uint64_t exchange(std::uint64_t given, unsigned int from_lane);
unsigned int lane();
void block_barrier();

// Runs `blocks` blocks of `threads` threads. Warps and lanes take turns from the first on, or from the last.
// Returns what went wrong, or a null pointer.
using Body = void (*)(const void* context);
const char* run_grid(unsigned int blocks, unsigned int threads, bool backward, Body body, const void* context);

template <class... P>
struct Call {
    void (*kernel)(P...);
    void** arguments;

    static void run(const void* context) {
        static_cast<const Call*>(context)->apply(std::index_sequence_for<P...>{});
    }

    template <std::size_t... I>
    void apply(std::index_sequence<I...>) const {
        kernel(*static_cast<std::remove_reference_t<P>*>(arguments[I])...);
    }
};

template <class... P>
const char* launch(void (*kernel)(P...), unsigned int blocks, unsigned int threads, bool backward, void** arguments) {
    const Call<P...> call{kernel, arguments};
    return run_grid(blocks, threads, backward, &Call<P...>::run, &call);
}

}  // namespace emulation

#define threadIdx emulation::thread_position()
#define blockIdx emulation::block_position()
#define blockDim emulation::block_extent()

inline int __shfl_xor_sync(unsigned int, int value, int lanes) {
    const auto from = emulation::lane() ^ static_cast<unsigned int>(lanes);
    return static_cast<int>(emulation::exchange(static_cast<std::uint32_t>(value), from));
}

inline void __syncthreads() { emulation::block_barrier(); }

inline unsigned long long atomicMin(unsigned long long* at, unsigned long long value) {
    const unsigned long long before = *at;
    if (value < before) *at = value;
    return before;
}

// A kernel under a name that takes its arguments as cuLaunchKernel does.
#define EMULATED(kernel)                                                                                       \
    extern "C" const char* emulated_##kernel(unsigned int blocks, unsigned int threads, bool backward,         \
                                             void** arguments) {                                               \
        return emulation::launch(kernel, blocks, threads, backward, arguments);                                \
    }
