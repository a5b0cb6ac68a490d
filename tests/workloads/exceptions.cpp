// Exceptions through frames that burn CPU, so that samples come while they are on the stack.
// Arguments: rounds, and "uncounted" to walk the stack without a word about the number of frames:
// an unwinder inside the program sees one more where a return address is replaced.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <execinfo.h>
#include <stdexcept>
#include <string>
#include <thread>
#include <unwind.h>

#include "handler_stack.h"

namespace {

volatile unsigned long sink;
[[gnu::noinline]] void burn(unsigned long n) {
    unsigned long sum = 0;
    for (unsigned long i = 0; i < n; i++) sum += i ^ (sum >> 3);
    sink = sum;
}

struct Counted {
    explicit Counted(int &count) : count(count) {}
    ~Counted() { count++; }
    int &count;
};

[[gnu::noinline]] int through(int frames, int &cleaned) {
    Counted guard(cleaned);
    burn(20000);
    if (frames == 0) throw std::runtime_error("deep");
    int below = through(frames - 1, cleaned);
    burn(20000);
    return below + 1;
}

[[gnu::noinline]] int rethrowing(int frames) {
    burn(5000);
    if (frames == 0) throw 1;
    try {
        return rethrowing(frames - 1);
    } catch (int &value) {
        value++;
        throw;
    }
}

[[gnu::noinline]] int ordinary(int depth) {
    burn(2000);
    return depth == 0 ? 0 : 1 + ordinary(depth - 1);
}

[[gnu::noinline]] int frames_seen(int depth) {
    burn(20000);
    if (depth > 0) {
        int seen = frames_seen(depth - 1);
        burn(100);
        return seen;
    }
    void *addresses[200];
    return backtrace(addresses, 200);
}

_Unwind_Reason_Code count_frame(_Unwind_Context *, void *count) {
    ++*static_cast<int *>(count);
    return _URC_NO_REASON;
}

[[gnu::noinline]] int frames_walked(int depth) {
    burn(20000);
    if (depth > 0) {
        int seen = frames_walked(depth - 1);
        burn(100);
        return seen;
    }
    int count = 0;
    _Unwind_Backtrace(count_frame, &count);
    return count;
}

bool uncounted;

std::string all(int rounds) {
    int caught = 0, cleaned = 0, values = 0, depth = 0;
    bool steady = true;
    for (int i = 0; i < rounds; i++) {
        try {
            through(20, cleaned);
        } catch (const std::exception &) {
            caught++;
        }
        depth += ordinary(30);
        try {
            rethrowing(20);
        } catch (int value) {
            values += value;
        }
        depth += ordinary(30);
        std::exception_ptr kept;
        try {
            through(3, cleaned);
        } catch (...) {
            kept = std::current_exception();
        }
        try {
            std::rethrow_exception(kept);
        } catch (const std::runtime_error &) {
            caught++;
        }
        // One more frame below is one more frame seen, whatever is above.
        steady = steady && frames_seen(12) == frames_seen(11) + 1;
        steady = steady && frames_walked(12) == frames_walked(11) + 1;
    }
    const char *verdict = uncounted ? "" : steady ? " steady" : " unsteady";
    return "caught " + std::to_string(caught) + " cleaned " + std::to_string(cleaned) +
           " values " + std::to_string(values) + " depth " + std::to_string(depth) +
           verdict;
}

} // namespace

int main(int argc, char **argv) {
    int rounds = argc > 1 ? std::atoi(argv[1]) : 200;
    uncounted = argc > 2 && std::strcmp(argv[2], "uncounted") == 0;
    std::printf("%s\n", all(rounds).c_str());
    std::string results[3];
    std::thread threads[3];
    for (int i = 0; i < 3; i++)
        threads[i] = std::thread([&, i] { results[i] = all(rounds); });
    for (auto &thread : threads) thread.join();
    for (auto &result : results) std::printf("thread %s\n", result.c_str());
    return 0;
}
