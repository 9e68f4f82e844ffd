// Acts out the blocks and warps of src/engine/local/cuda/attention.cu on a CPU, so that its arithmetic, its indices
// and its barriers can be tested without a GPU. It says nothing about speed.
//
// Every thread of a block is a context of its own. They run one at a time, in a new random order after every barrier,
// until all of a warp wait at the same shuffle or warp barrier, or all of a block at a block barrier. Threads that
// can never meet end the program with an error. Whatever was not written yet holds no number.
//
// Compiled with the defines that the kernels want; reads a layer and its steps from stdin (tests/engine/cuda.rs) and
// writes what every step gives to stdout.

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <limits>
#include <memory>
#include <random>
#include <ucontext.h>
#include <vector>

struct Index {
    unsigned x, y;
};
static Index blockIdx, threadIdx;

#define __global__
#define __device__
#define __shared__ static
#define __launch_bounds__(threads)

enum class At { Ready, Shuffle, Warp, Block, Done };

struct Thread {
    ucontext_t context;
    std::unique_ptr<char[]> stack;
    At at;
    unsigned shuffles;
};

static const size_t STACK = 64 << 10;
static std::vector<Thread> threads;
static ucontext_t scheduler;
static unsigned current;
static std::function<void()> body;
// a lane is at most one shuffle ahead of another
static float exchanged[2][1024];

static void wait_at(At at) {
    const unsigned self = current;
    threads[self].at = at;
    swapcontext(&threads[self].context, &scheduler);
}

static void __syncthreads() { wait_at(At::Block); }
static void __syncwarp() { wait_at(At::Warp); }
static float __shfl_xor_sync(unsigned, float x, unsigned apart) {
    const unsigned self = current, turn = threads[self].shuffles++ % 2;
    exchanged[turn][self] = x;
    wait_at(At::Shuffle);
    return exchanged[turn][(self / 32) * 32 + ((self % 32) ^ apart)];
}

#include KERNELS

static void enter() {
    body();
    threads[current].at = At::Done;
    swapcontext(&threads[current].context, &scheduler);
}

// Whether all of some threads wait at the same place; then they go on.
static bool meet(unsigned from, unsigned to, std::initializer_list<At> places) {
    for (At place : places) {
        const auto waits = [&](const Thread &t) { return t.at == place; };
        if (std::all_of(threads.begin() + from, threads.begin() + to, waits)) {
            for (unsigned i = from; i < to; i++)
                threads[i].at = At::Ready;
            return true;
        }
    }
    return false;
}

static void run_block(unsigned count, std::mt19937 &random) {
    for (auto &thread : threads) {
        thread.at = At::Ready;
        thread.shuffles = 0;
        getcontext(&thread.context);
        thread.context.uc_stack.ss_sp = thread.stack.get();
        thread.context.uc_stack.ss_size = STACK;
        thread.context.uc_link = nullptr;
        makecontext(&thread.context, enter, 0);
    }
    std::vector<unsigned> order(count);
    for (unsigned i = 0; i < count; i++)
        order[i] = i;
    for (;;) {
        std::shuffle(order.begin(), order.end(), random);
        for (unsigned i : order)
            if (threads[i].at == At::Ready) {
                current = i;
                threadIdx = {i, 0};
                swapcontext(&scheduler, &threads[i].context);
            }
        const auto done = [](const Thread &t) { return t.at == At::Done; };
        if (std::all_of(threads.begin(), threads.end(), done))
            return;
        bool goes_on = meet(0, count, {At::Block});
        for (unsigned warp = 0; warp < count; warp += 32)
            goes_on |= meet(warp, warp + 32, {At::Shuffle, At::Warp});
        if (!goes_on) {
            fprintf(stderr, "block %u,%u: its threads wait for each other at different barriers\n", blockIdx.x,
                    blockIdx.y);
            exit(1);
        }
    }
}

static void launch(unsigned x, unsigned y, unsigned count, std::function<void()> kernel) {
    static std::mt19937 random(1);
    body = kernel;
    threads = std::vector<Thread>(count);
    for (auto &thread : threads)
        thread.stack.reset(new char[STACK]);
    for (blockIdx.y = 0; blockIdx.y < y; blockIdx.y++)
        for (blockIdx.x = 0; blockIdx.x < x; blockIdx.x++)
            run_block(count, random);
}

template <typename T> static std::vector<T> read_all(size_t count) {
    std::vector<T> values(count);
    if (fread(values.data(), sizeof(T), count, stdin) != count) {
        fprintf(stderr, "the input ends early\n");
        exit(1);
    }
    return values;
}

int main() {
    const float nothing = std::numeric_limits<float>::quiet_NaN();
    const auto head = read_all<unsigned>(2);
    const size_t size = (size_t)head[0] * PAGE * KV_HEADS * HEAD_DIM;
    const float eps = read_all<float>(1)[0];
    const auto frequencies = read_all<float>(HALF);
    const auto q_norm = read_all<float>(HEAD_DIM), k_norm = read_all<float>(HEAD_DIM);
    std::vector<float> keys(size, nothing), values(size, nothing);
    for (unsigned step = 0; step < head[1]; step++) {
        const auto sizes = read_all<unsigned>(3);
        const unsigned rows = sizes[0], tiles = sizes[1];
        const auto words = read_all<unsigned>(sizes[2]);
        const unsigned width = HEADS * HEAD_DIM, kv_width = KV_HEADS * HEAD_DIM, stride = width + 2 * kv_width;
        // side by side, as one product gives them
        const auto qkv = read_all<float>((size_t)rows * stride);
        const float *q = qkv.data(), *k = q + width, *v = k + kv_width;
        std::vector<float> queries((size_t)rows * width, nothing), out((size_t)rows * width, nothing);
        const Row *row_words = (const Row *)words.data();
        const Tile *tile_words = (const Tile *)(words.data() + 2 * rows);
        const unsigned *pages = words.data() + 2 * rows + 5 * tiles;
        launch(rows, HEADS + 2 * KV_HEADS, LANES, [&] {
            place(q, k, v, stride, stride, stride, q_norm.data(), k_norm.data(), eps, frequencies.data(), row_words,
                  queries.data(), keys.data(), values.data());
        });
        launch(tiles, KV_HEADS, WARPS * LANES,
               [&] { attend(queries.data(), keys.data(), values.data(), tile_words, pages, out.data()); });
        fwrite(out.data(), sizeof(float), out.size(), stdout);
    }
    return 0;
}
