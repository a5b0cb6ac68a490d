/* Threads, exceptions, allocations, signals and a library, for programs built with a sanitizer: its runtime
 * stands before the same functions of the C library as csprof, and looks at the stack itself. */
#include <atomic>
#include <csignal>
#include <cstdio>
#include <dlfcn.h>
#include <stdexcept>
#include <thread>
#include <vector>

static std::atomic<unsigned long> sum;

static void burn(int steps) {
    unsigned long value = 1;
    for (int i = 0; i < steps; i++) value = value * 3 + (unsigned long)i;
    sum += value;
}

static int thrower(int depth) {
    if (depth == 0) throw std::runtime_error("bottom");
    return thrower(depth - 1) + 1;
}

static std::atomic<int> handled;
static void handler(int) { handled++; }

int main() {
    int caught = 0;
    std::vector<std::thread> threads;
    std::signal(SIGUSR1, handler);
    for (int i = 0; i < 4; i++)
        threads.emplace_back([] {
            for (int j = 0; j < 100; j++) burn(100000);
        });
    for (int i = 0; i < 200; i++) {
        try {
            burn(50000);
            thrower(20);
        } catch (const std::runtime_error &) {
            caught++;
        }
        std::vector<int> many(1000 + i, 1);
        caught += many[5];
        std::raise(SIGUSR1);
    }
    for (auto &thread : threads) thread.join();
    void *library = dlopen("libresolv.so.2", RTLD_NOW);
    if (library) dlclose(library);
    std::printf("caught %d, handled %d\n", caught, handled.load());
    return 3;
}
