// An exception that nobody catches, 200 frames deep, each of which has burnt CPU. The argument says
// what is in its way: nothing, a function that must not throw, or a destructor that throws a second.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <stdexcept>
#include <unistd.h>

static volatile unsigned long sink;
[[gnu::noinline]] static void burn(unsigned long n) {
    unsigned long sum = 0;
    for (unsigned long i = 0; i < n; i++) sum += i ^ (sum >> 3);
    sink = sum;
}

struct Second {
    bool throws;
    ~Second() noexcept(false) {
        if (throws) throw 2;
    }
};

[[gnu::noinline]] static int down(int frames, bool second) {
    Second guard{second && frames == 100};
    burn(400000);
    if (frames == 0) throw std::runtime_error("deep");
    int below = down(frames - 1, second);
    burn(1000);
    return below + 1;
}

[[gnu::noinline]] static int must_not_throw() noexcept { return down(200, false) + 1; }

int main(int, char **arguments) {
    const char *how = arguments[1];
    if (std::strcmp(how, "handler") == 0) {
        std::set_terminate([] {
            try {
                std::rethrow_exception(std::current_exception());
            } catch (const std::exception &error) {
                std::printf("terminated: %s\n", error.what());
            }
            std::fflush(stdout);
            _exit(3);
        });
        return down(200, false);
    }
    if (std::strcmp(how, "noexcept") == 0) return must_not_throw();
    if (std::strcmp(how, "second") == 0) {
        try {
            return down(200, true);
        } catch (...) {
            return 1;
        }
    }
    return down(200, false);
}
