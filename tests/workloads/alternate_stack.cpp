// Handlers on an alternate stack that return, jump and throw, after burning CPU there: for a raised
// signal, for a fault, and for a stack that overflowed. With -fnon-call-exceptions a handler
// may throw out of the instruction that faulted.
#include <csetjmp>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

namespace {

volatile unsigned long sink;
[[gnu::noinline]] void burn(unsigned long n) {
    unsigned long sum = 0;
    for (unsigned long i = 0; i < n; i++) sum += i ^ (sum >> 3);
    sink = sum;
}

volatile int *volatile nowhere;
sigjmp_buf back;
int returned, jumped, caught, cleaned, overflowed;
enum class Way { Return, Jump, Throw } way;
char *page;

struct Counted {
    ~Counted() { cleaned++; }
};

[[gnu::noinline]] void in_handler(int frames) {
    burn(2000);
    if (frames > 0) {
        in_handler(frames - 1);
        burn(100);
        return;
    }
    switch (way) {
    case Way::Return: returned++; return;
    case Way::Jump: siglongjmp(back, 1);
    case Way::Throw: throw 7;
    }
}

void on_fault(int, siginfo_t *info, void *) {
    if (info->si_addr == page) mprotect(page, 4096, PROT_READ | PROT_WRITE);
    in_handler(6);
}

[[gnu::noinline]] int touch(int frames, volatile int *where) {
    Counted guard;
    burn(2000);
    int below = frames > 0 ? touch(frames - 1, where) : *where;
    burn(2000);
    return below + 1;
}

[[gnu::noinline]] unsigned long overflow(unsigned long depth) {
    volatile char room[1024];
    room[depth % 1024] = 1;
    burn(5);
    unsigned long below = overflow(depth + 1);
    return below + room[1];
}

void by_return() {
    way = Way::Return;
    mprotect(page, 4096, PROT_NONE);
    touch(5, reinterpret_cast<volatile int *>(page));
}

void by_jump() {
    way = Way::Jump;
    if (sigsetjmp(back, 1) == 0)
        touch(0, nowhere);
    else
        jumped++;
}

void by_throw() {
    way = Way::Throw;
    try {
        touch(5, nowhere);
    } catch (int value) {
        caught += value == 7;
    }
    // The kernel's mask is still that of the handler.
    sigset_t segv;
    sigemptyset(&segv);
    sigaddset(&segv, SIGSEGV);
    sigprocmask(SIG_UNBLOCK, &segv, nullptr);
}

void by_overflow() {
    way = Way::Jump;
    if (sigsetjmp(back, 1) == 0)
        overflow(1);
    else
        overflowed++;
}

} // namespace

int main() {
    page = static_cast<char *>(
        mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    rlimit limit;
    getrlimit(RLIMIT_STACK, &limit);
    limit.rlim_cur = 1 << 20;
    setrlimit(RLIMIT_STACK, &limit);
    stack_t stack = {};
    stack.ss_size = 1 << 16;
    stack.ss_sp = std::malloc(stack.ss_size);
    sigaltstack(&stack, nullptr);
    struct sigaction action = {};
    action.sa_sigaction = on_fault;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigaction(SIGSEGV, &action, nullptr);
    for (int round = 0; round < 600; round++) {
        by_return();
        by_jump();
        by_throw();
        if (round % 3 == 0) by_overflow();
    }
    std::printf("returned %d, jumped %d, caught %d, cleaned %d, overflowed %d\n", returned, jumped,
                caught, cleaned, overflowed);
    return 0;
}
