// Throws through frames with cleanups.
#include <stdexcept>

namespace {
int cleaned;
struct Cleanup {
    ~Cleanup() { cleaned++; }
};

__attribute__((noinline)) int deep(int depth) {
    Cleanup cleanup;
    volatile unsigned sum = 0;
    for (unsigned i = 0; i < 200; i++)
        sum += i;
    if (depth == 0)
        throw std::runtime_error("thrown");
    return deep(depth - 1) + (sum != 0);
}
} // namespace

extern "C" int work(int times) {
    int caught = 0;
    for (int i = 0; i < times; i++) {
        try {
            deep(i % 8);
        } catch (const std::runtime_error &) {
            caught++;
        }
    }
    return caught + (cleaned == 0);
}
