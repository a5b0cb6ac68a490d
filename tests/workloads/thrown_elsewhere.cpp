// Eight threads throw at once, through frames that burn CPU. Each hands its exceptions to the next
// thread, which throws them again through frames of its own; and destructors throw and catch while
// they are run by an exception.
#include <array>
#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <exception>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <vector>

namespace {

constexpr int threads = 8, rounds = 100;

thread_local volatile unsigned long sink;
[[gnu::noinline]] void burn(unsigned long n) {
    unsigned long sum = 0;
    for (unsigned long i = 0; i < n; i++) sum += i ^ (sum >> 3);
    sink = sum;
}

std::atomic<int> cleaned, inner, nested, unwinding;

// Throws and catches while it is itself run by an exception.
struct Thrower {
    explicit Thrower(int depth) : depth(depth) {}
    ~Thrower() {
        burn(2000);
        if (std::uncaught_exceptions() > 0) unwinding++;
        if (depth > 0) {
            try {
                Thrower again(depth - 1);
                burn(2000);
                throw depth;
            } catch (int value) {
                inner += value == depth;
            }
        }
        cleaned++;
    }
    int depth;
};

[[gnu::noinline]] int down(int frames, const std::exception_ptr &what) {
    Thrower guard(frames % 4 == 0 ? 2 : 0);
    burn(2000);
    if (frames == 0) std::rethrow_exception(what);
    int below = down(frames - 1, what);
    burn(2000);
    return below + 1;
}

[[gnu::noinline]] void nest(int depth) {
    burn(2000);
    try {
        if (depth == 0) throw std::runtime_error("innermost");
        nest(depth - 1);
    } catch (...) {
        std::throw_with_nested(std::runtime_error("outer"));
    }
}

int levels(const std::exception &error) {
    try {
        std::rethrow_if_nested(error);
    } catch (const std::exception &inside) {
        return 1 + levels(inside);
    }
    return 1;
}

struct Box {
    std::mutex mutex;
    std::condition_variable filled, emptied;
    std::exception_ptr content;

    void put(std::exception_ptr what) {
        std::unique_lock<std::mutex> lock(mutex);
        emptied.wait(lock, [&] { return !content; });
        content = what;
        filled.notify_one();
    }
    std::exception_ptr take() {
        std::unique_lock<std::mutex> lock(mutex);
        filled.wait(lock, [&] { return bool(content); });
        std::exception_ptr what = content;
        content = nullptr;
        emptied.notify_one();
        return what;
    }
};

std::array<Box, threads> boxes;
std::atomic<int> caught, sum;

void worker(int number) {
    for (int round = 0; round < rounds; round++) {
        try {
            down(12, std::make_exception_ptr(number * 100 + round));
        } catch (...) {
            boxes[(number + 1) % threads].put(std::current_exception());
        }
        try {
            down(8, boxes[number].take());
        } catch (int value) {
            caught++;
            sum += value;
        }
        try {
            nest(5);
        } catch (const std::exception &error) {
            nested += levels(error);
        }
    }
}

} // namespace

int main() {
    std::vector<std::thread> all;
    for (int i = 0; i < threads; i++) all.emplace_back(worker, i);
    for (auto &thread : all) thread.join();
    std::printf("caught %d, sum %d, cleaned %d, unwinding %d, inner %d, nested %d\n",
                caught.load(), sum.load(), cleaned.load(), unwinding.load(), inner.load(),
                nested.load());
    return 0;
}
