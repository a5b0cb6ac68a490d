/* Boost's context switches, which are assembly: continuations that work at the bottom of a recursion, throw
 * and catch on their own stacks, go on in other threads, and are destroyed in the middle. */
#include <boost/context/continuation.hpp>
#include <cstdio>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

namespace ctx = boost::context;

static volatile unsigned long sink;

__attribute__((noinline)) static void burn(unsigned long steps) {
    for (unsigned long i = 0; i < steps; i++) sink = sink + i * i;
}

static thread_local long destroyed;

struct Counted {
    ~Counted() { ++destroyed; }
};

__attribute__((noinline)) static long deep(ctx::continuation &back, int depth) {
    Counted counted;
    if (depth == 0) {
        burn(20000);
        back = back.resume();
        burn(20000);
        throw std::runtime_error("bottom");
    }
    long below = deep(back, depth - 1);
    return below + 1;
}

static long caught;

static ctx::continuation start(int depth) {
    return ctx::callcc([depth](ctx::continuation &&back) {
        for (;;) {
            try {
                deep(back, depth);
            } catch (const std::runtime_error &) {
                __atomic_fetch_add(&caught, 1, __ATOMIC_RELAXED);
            }
        }
        return std::move(back);
    });
}

static long here(int rounds) {
    std::vector<ctx::continuation> all;
    for (int i = 0; i < 10; i++) all.push_back(start(5 + i * 3));
    for (int round = 0; round < rounds; round++)
        for (auto &one : all) one = one.resume();
    destroyed = 0;
    all.clear();
    return destroyed;
}

int main() {
    std::printf("destroyed %ld\n", here(200));
    std::vector<long> each(4);
    std::vector<std::thread> threads;
    for (auto &count : each) threads.emplace_back([&count] { count = here(50); });
    for (auto &thread : threads) thread.join();
    for (long count : each) std::printf("destroyed in a thread %ld\n", count);
    // Begun here, gone on with elsewhere.
    ctx::continuation wanders = start(20);
    for (int i = 0; i < 40; i++)
        std::thread([&wanders] { wanders = wanders.resume(); }).join();
    destroyed = 0;
    wanders = ctx::continuation();
    std::printf("caught %ld, destroyed %ld\n", caught, destroyed);
    return 0;
}
