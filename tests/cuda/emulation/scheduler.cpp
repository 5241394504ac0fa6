// Runs the fibers of one block at a time. A fiber is entered once with its stack; from then on it and the scheduler jump
// to each other without system calls.
#include <setjmp.h>
#include <ucontext.h>

#include <memory>
#include <vector>

#include "cuda_on_host.h"

namespace emulation {

enum class State { kReady, kAtShuffle, kAtBarrier, kEnded };

struct Fiber {
    static constexpr std::size_t kStack = 64 << 10;

    unsigned int index = 0;
    bool entered = false;
    State state = State::kEnded;
    unsigned int shuffles = 0;
    std::uint64_t given[2] = {};   // by even and odd shuffles, so that the next gift waits for all to have taken this one
    ucontext_t entry{};
    jmp_buf place;
    std::unique_ptr<char[]> stack{new char[kStack]};
};

Fiber* current = nullptr;

namespace {

constexpr unsigned int kWarp = 32;

jmp_buf scheduler;
std::vector<std::unique_ptr<Fiber>> fibers;
unsigned int block_index = 0;
unsigned int threads_of_block = 0;
Body body_of_grid = nullptr;
const void* context_of_grid = nullptr;

[[gnu::noinline]] void give_way(State state) {
    current->state = state;
    if (_setjmp(current->place) == 0) _longjmp(scheduler, 1);
}

void live() {
    for (;;) {
        body_of_grid(context_of_grid);
        give_way(State::kEnded);
    }
}

[[gnu::noinline]] void resume(Fiber& fiber) {
    current = &fiber;
    if (_setjmp(scheduler) != 0) return;
    if (fiber.entered) _longjmp(fiber.place, 1);
    fiber.entered = true;
    getcontext(&fiber.entry);
    fiber.entry.uc_stack.ss_sp = fiber.stack.get();
    fiber.entry.uc_stack.ss_size = Fiber::kStack;
    fiber.entry.uc_link = nullptr;
    makecontext(&fiber.entry, live, 0);
    setcontext(&fiber.entry);
}

unsigned int turn(unsigned int i, unsigned int count, bool backward) { return backward ? count - 1 - i : i; }

// Runs a warp until all its lanes are at a barrier or have ended; false if they part.
bool run_warp(unsigned int first, bool backward, State& state) {
    do {
        for (unsigned int i = 0; i < kWarp; ++i) resume(*fibers[first + turn(i, kWarp, backward)]);
        state = fibers[first]->state;
        for (unsigned int i = 0; i < kWarp; ++i)
            if (fibers[first + i]->state != state) return false;
    } while (state == State::kAtShuffle);
    return true;
}

const char* run_block(unsigned int threads, bool backward) {
    for (unsigned int i = 0; i < threads; ++i) {
        fibers[i]->index = i;
        fibers[i]->state = State::kReady;
        fibers[i]->shuffles = 0;
    }
    const unsigned int warps = threads / kWarp;
    for (;;) {
        unsigned int ended = 0;
        for (unsigned int i = 0; i < warps; ++i) {
            State state = State::kEnded;
            if (!run_warp(turn(i, warps, backward) * kWarp, backward, state)) return "lanes of a warp part";
            ended += state == State::kEnded;
        }
        if (ended == warps) return nullptr;
        if (ended != 0) return "a warp ends while others wait at a barrier";
    }
}

}  // namespace

Position thread_position() { return {current->index, 0, 0}; }
Position block_position() { return {block_index, 0, 0}; }
Position block_extent() { return {threads_of_block, 1, 1}; }
unsigned int lane() { return current->index % kWarp; }
void block_barrier() { give_way(State::kAtBarrier); }

std::uint64_t exchange(std::uint64_t given, unsigned int from_lane) {
    const unsigned int parity = current->shuffles++ % 2;
    current->given[parity] = given;
    give_way(State::kAtShuffle);
    return fibers[current->index / kWarp * kWarp + from_lane]->given[parity];
}

const char* run_grid(unsigned int blocks, unsigned int threads, bool backward, Body body, const void* context) {
    if (threads == 0 || threads % kWarp != 0) return "a block is not whole warps";
    threads_of_block = threads;
    body_of_grid = body;
    context_of_grid = context;
    while (fibers.size() < threads) fibers.push_back(std::make_unique<Fiber>());
    for (block_index = 0; block_index < blocks; ++block_index) {
        const char* error = run_block(threads, backward);
        if (error != nullptr) {
            fibers.clear();   // what has not ended never will
            return error;
        }
    }
    return nullptr;
}

}  // namespace emulation
