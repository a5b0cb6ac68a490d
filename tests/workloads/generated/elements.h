// What generated programs are put together from. A generated program is a `main` of blocks in
// blocks: kinds of stack, states of flags, tricks, and an end. All that an element computes or is
// told goes into a sum, and the sums are printed; nothing in them depends on time, addresses or
// numbers of processes, so a program must print the same each time.

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <algorithm>
#include <alloca.h>
#include <fcntl.h>
#include <poll.h>
#include <atomic>
#include <cerrno>
#include <csetjmp>
#include <csignal>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <dlfcn.h>
#include <execinfo.h>
#include <immintrin.h>
#include <initializer_list>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <spawn.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline))
using u64 = unsigned long;

static thread_local u64 sum;
static const char *own_path;

static void mix(u64 value) { sum = (sum ^ value) * 1099511628211ul + 1; }

// Programs may have functions of their own with the names of the C library's, so system calls are
// made here directly.
static long system_call(long number, long a = 0, long b = 0, long c = 0, long d = 0) {
    long result;
    register long r10 asm("r10") = d;
    asm volatile("syscall" : "=a"(result) : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10) : "rcx", "r11", "memory");
    return result;
}

NOINLINE static void say(const char *what, long number = 0) {
    char line[100];
    int length = snprintf(line, sizeof line, "%s %ld %016lx\n", what, number, sum);
    system_call(SYS_write, 1, (long)line, length);
}

// Work without calls outside, without vectors and with aligned memory only.

NOINLINE static u64 leaf(u64 value) {
    for (int i = 0; i < 300; i++) value = value * 6364136223846793005ul + 1442695040888963407ul;
    return value >> 7;
}

NOINLINE static u64 deep(int depth, u64 value) {
    if (depth == 0) return leaf(value);
    u64 below = deep(depth - 1, value + depth);
    asm volatile("" : "+r"(below));
    return below * 3 + depth;
}

NOINLINE static void work(int depth, int times) {
    for (int i = 0; i < times; i++) mix(deep(depth, i));
}

static unsigned long library_back(int depth) { return deep(depth, 5); }

NOINLINE static u64 tail_two(int depth, u64 value);
NOINLINE static u64 tail_one(int depth, u64 value) {
    value = leaf(value);
    if (depth == 0) return value;
    return tail_two(depth - 1, value);
}
NOINLINE static u64 tail_two(int depth, u64 value) {
    if (depth == 0) return leaf(value + 1);
    return tail_one(depth - 1, value + 3);
}
static void tail_calls(int depth, int times) {
    for (int i = 0; i < times; i++) mix(tail_one(depth, i));
}

NOINLINE static void allocates(int size, int times) {
    for (int i = 0; i < times; i++) {
        volatile char *room = (volatile char *)alloca(size + i % 64);
        room[0] = (char)i;
        room[size - 1] = 7;
        mix(deep(3, i) + room[0] + room[size - 1]);
        if (i % 16 == 15) return mix(i);
    }
}

// Functions in assembly, each with right call frame information.
asm(R"(
    .text
    .p2align 4
    .type pops_arguments, @function
pops_arguments:
    .cfi_startproc
    mov $400, %ecx
1:  dec %ecx
    jnz 1b
    mov 8(%rsp), %rax
    add 16(%rsp), %rax
    ret $16
    .cfi_endproc
    .size pops_arguments, . - pops_arguments

    .type call_popping, @function
call_popping:
    .cfi_startproc
    push %rbx
    .cfi_adjust_cfa_offset 8
    .cfi_rel_offset %rbx, 0
    push %r12
    .cfi_adjust_cfa_offset 8
    .cfi_rel_offset %r12, 0
    mov %rdi, %rbx
    xor %r12d, %r12d
1:  push %rbx
    .cfi_adjust_cfa_offset 8
    push $5
    .cfi_adjust_cfa_offset 8
    call pops_arguments
    .cfi_adjust_cfa_offset -16
    add %rax, %r12
    dec %rbx
    jnz 1b
    mov %r12, %rax
    pop %r12
    .cfi_adjust_cfa_offset -8
    .cfi_restore %r12
    pop %rbx
    .cfi_adjust_cfa_offset -8
    .cfi_restore %rbx
    ret
    .cfi_endproc
    .size call_popping, . - call_popping

    .type where_am_i, @function
where_am_i:
    .cfi_startproc
    xor %eax, %eax
1:  call 2f
2:  .cfi_adjust_cfa_offset 8
    mov $200, %ecx
3:  dec %ecx
    jnz 3b
    pop %rdx
    .cfi_adjust_cfa_offset -8
    lea 2b(%rip), %rcx
    sub %rcx, %rdx
    add %rdx, %rax
    dec %rdi
    jnz 1b
    ret
    .cfi_endproc
    .size where_am_i, . - where_am_i

    .type downwards, @function
downwards:
    .cfi_startproc
    push %rdi
    .cfi_adjust_cfa_offset 8
    mov $150, %ecx
1:  dec %ecx
    jnz 1b
    test %rdi, %rdi
    jz 2f
    dec %rdi
    call downwards
    lodsb
    movzbl %al, %eax
    add %rax, %rdx
2:  pop %rdi
    .cfi_adjust_cfa_offset -8
    ret
    .cfi_endproc
    .size downwards, . - downwards

    .type call_on, @function
call_on:
    .cfi_startproc
    push %rbp
    .cfi_adjust_cfa_offset 8
    .cfi_rel_offset %rbp, 0
    mov %rsp, %rbp
    .cfi_def_cfa_register %rbp
    mov %rdi, %rsp
    mov %rdx, %rdi
    call *%rsi
    leave
    .cfi_def_cfa %rsp, 8
    ret
    .cfi_endproc
    .size call_on, . - call_on

    .type save_context, @function
save_context:
    .cfi_startproc
    mov %rbx, (%rdi)
    mov %rbp, 8(%rdi)
    mov %r12, 16(%rdi)
    mov %r13, 24(%rdi)
    mov %r14, 32(%rdi)
    mov %r15, 40(%rdi)
    lea 8(%rsp), %rax
    mov %rax, 48(%rdi)
    mov (%rsp), %rax
    mov %rax, 56(%rdi)
    xor %eax, %eax
    ret
    .cfi_endproc
    .size save_context, . - save_context

    .type load_context, @function
load_context:
    mov (%rdi), %rbx
    mov 8(%rdi), %rbp
    mov 16(%rdi), %r12
    mov 24(%rdi), %r13
    mov 32(%rdi), %r14
    mov 40(%rdi), %r15
    mov 48(%rdi), %rsp
    mov $1, %eax
    jmp *56(%rdi)
    .size load_context, . - load_context

    .type switch_context, @function
switch_context:
    .cfi_startproc
    push %rbp
    .cfi_adjust_cfa_offset 8
    push %rbx
    .cfi_adjust_cfa_offset 8
    push %r12
    .cfi_adjust_cfa_offset 8
    push %r13
    .cfi_adjust_cfa_offset 8
    push %r14
    .cfi_adjust_cfa_offset 8
    push %r15
    .cfi_adjust_cfa_offset 8
    mov %rsp, (%rdi)
    mov %rsi, %rsp
    pop %r15
    .cfi_adjust_cfa_offset -8
    pop %r14
    .cfi_adjust_cfa_offset -8
    pop %r13
    .cfi_adjust_cfa_offset -8
    pop %r12
    .cfi_adjust_cfa_offset -8
    pop %rbx
    .cfi_adjust_cfa_offset -8
    pop %rbp
    .cfi_adjust_cfa_offset -8
    ret
    .cfi_endproc
    .size switch_context, . - switch_context

    .type full_of_floats, @function
full_of_floats:
    .cfi_startproc
    fld1
    fld1
    fld1
    fld1
    fld1
    fld1
    fld1
    fldpi
1:  call spins
    dec %rdi
    jnz 1b
    faddp
    faddp
    faddp
    faddp
    faddp
    faddp
    faddp
    ret
spins:
    mov $500, %ecx
2:  dec %ecx
    jnz 2b
    ret
    .cfi_endproc
    .size full_of_floats, . - full_of_floats

    .type wide_registers, @function
wide_registers:
    .cfi_startproc
    vmovdqu (%rsi), %ymm15
    vmovdqu (%rsi), %ymm1
1:  call spins
    dec %rdi
    jnz 1b
    vpaddq %ymm1, %ymm15, %ymm15
    vmovdqu %ymm15, (%rsi)
    vzeroupper
    ret
    .cfi_endproc
    .size wide_registers, . - wide_registers
)");

extern "C" {
u64 call_popping(u64 times);
u64 where_am_i(u64 times);
void downwards();
void call_on(void *top, void (*function)(void *), void *argument);
int save_context(void *) __attribute__((returns_twice));
[[noreturn]] void load_context(void *);
void switch_context(void **from, void *to);
long double full_of_floats(u64 times);
void wide_registers(u64 times, u64 *values);
}

static void pops(int times) { mix(call_popping(times)); }
static void asks_where(int times) { mix(where_am_i(times)); }

// A block as a function and its argument.
template <class F> NOINLINE static void run_block(void *block) { (*(F *)block)(); }

// States.

static const u64 AC = 1 << 18;

template <class F> NOINLINE static void with_alignment_checks(F block) {
    __builtin_ia32_writeeflags_u64(__builtin_ia32_readeflags_u64() | AC);
    block();
    u64 flags = __builtin_ia32_readeflags_u64();
    __builtin_ia32_writeeflags_u64(flags & ~AC);
    mix(flags & AC);
}

NOINLINE static void with_direction_down(int depth, int times) {
    char bytes[100];
    for (int i = 0; i < 100; i++) bytes[i] = (char)(i * 7);
    for (int i = 0; i < times; i++) {
        u64 total = 0;
        u64 levels = depth;
        const char *end = bytes + 90;
        asm volatile("std\n call downwards\n cld"
                     : "+d"(total), "+D"(levels), "+S"(end) : : "rax", "rcx", "memory", "cc");
        mix(total + (bytes + 90 - end));
    }
}

template <class F> NOINLINE static void with_rounding(unsigned bits, F block) {
    unsigned before = _mm_getcsr();
    _mm_setcsr((before & ~0xe040u) | bits);
    volatile double value = 1.0;
    for (int i = 1; i < 500; i++) value = value / 3.0 + i * 0.1;
    block();
    for (int i = 1; i < 500; i++) value = value / 7.0 + i * 0.3;
    mix(_mm_getcsr());
    _mm_setcsr(before);
    double result = value;
    u64 as_bits;
    memcpy(&as_bits, &result, 8);
    mix(as_bits);
}

template <class F> NOINLINE static void with_x87(unsigned short control, F block) {
    unsigned short before, after;
    asm volatile("fnstcw %0" : "=m"(before));
    asm volatile("fldcw %0" : : "m"(control));
    volatile long double value = 1;
    for (int i = 1; i < 300; i++) value = value / 3 + i;
    block();
    for (int i = 1; i < 300; i++) value = value / 7 + i;
    asm volatile("fnstcw %0" : "=m"(after));
    asm volatile("fldcw %0" : : "m"(before));
    mix(after);
    mix((u64)(value * 1e9L));
}

template <class F> NOINLINE static void with_protection_keys(F block) {
    int key = pkey_alloc(0, 0);
    if (key < 0) return block();
    unsigned before, after, high;
    asm volatile("rdpkru" : "=a"(before), "=d"(high) : "c"(0));
    asm volatile("wrpkru" : : "a"(0xfffffffcu), "d"(0), "c"(0) : "memory");
    block();
    asm volatile("rdpkru" : "=a"(after), "=d"(high) : "c"(0));
    asm volatile("wrpkru" : : "a"(before), "d"(0), "c"(0) : "memory");
    mix(after);
    pkey_free(key);
}

static void fills_x87(int times) { mix((u64)(full_of_floats(times) * 1e12L)); }

static void fills_wide_registers(int times) {
    if (!__builtin_cpu_supports("avx2")) return;
    u64 values[4] = {1, 2ul << 60, 3, 4ul << 59};
    wide_registers(times, values);
    for (u64 value : values) mix(value);
}

template <class F> NOINLINE static void with_signals_blocked(F block) {
    sigset_t all, before, after;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    block();
    pthread_sigmask(SIG_SETMASK, &before, &after);
    for (int signal : {SIGPROF, SIGTRAP, SIGUSR1, SIGALRM, SIGRTMIN, SIGRTMAX}) mix(sigismember(&after, signal) * 2 + sigismember(&before, signal));
}

template <class F> NOINLINE static void with_errno(F block) {
    errno = 77;
    block();
    mix(errno);
}

// Kinds of stack.

template <class F> static void *thread_of(void *block) {
    sum = 7;
    (*(F *)block)();
    return (void *)sum;
}

template <class F> NOINLINE static void on_thread(size_t size, F block) {
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    if (size) mix(pthread_attr_setstacksize(&attributes, size));
    pthread_t thread;
    void *result = nullptr;
    mix(pthread_create(&thread, &attributes, thread_of<F>, &block));
    mix(pthread_join(thread, &result));
    mix((u64)result);
    pthread_attr_destroy(&attributes);
}

template <class F> NOINLINE static void on_threads(int count, F block) {
    pthread_t threads[16];
    u64 total = 0;
    void *result = nullptr;
    for (int i = 0; i < count; i++) mix(pthread_create(&threads[i], nullptr, thread_of<F>, &block));
    for (int i = 0; i < count; i++) {
        mix(pthread_join(threads[i], &result));
        total += (u64)result;
    }
    mix(total);
}

// Memory with a pattern before and behind; `touched` counts what changed there.
struct Painted {
    static const size_t MARGIN = 8192;
    char *region;
    size_t size;
    explicit Painted(size_t size) : size(size) {
        region = (char *)mmap(nullptr, size + 2 * MARGIN, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        memset(region, 0xa5, size + 2 * MARGIN);
    }
    char *bottom() const { return region + MARGIN; }
    char *top() const { return bottom() + size; }
    void release() {
        u64 touched = 0;
        for (size_t i = 0; i < MARGIN; i++) touched += (region[i] != (char)0xa5) + (top()[i] != (char)0xa5);
        mix(touched);
        if (touched) say("touched", (long)touched);
        munmap(region, size + 2 * MARGIN);
    }
};

struct Coroutine {
    ucontext_t home, here;
    void *home_stack, *here_stack;
    void (*run)(void *);
    void *block;
    bool done, assembly;
    Coroutine *outer;
};
static thread_local Coroutine *coroutine;

static void yields() {
    Coroutine *self = coroutine;
    if (!self) return;
    if (self->assembly) switch_context(&self->here_stack, self->home_stack);
    else swapcontext(&self->here, &self->home);
    coroutine = self;
}

static void begin_coroutine() {
    Coroutine *self = coroutine;
    self->run(self->block);
    self->done = true;
    for (;;) {
        if (self->assembly) switch_context(&self->here_stack, self->home_stack);
        else swapcontext(&self->here, &self->home);
    }
}

template <class F> NOINLINE static void on_coroutine(size_t size, bool assembly, F block) {
    Painted stack(size);
    // Not on the stack: it may be a small one itself.
    Coroutine *self = (Coroutine *)calloc(1, sizeof *self);
    self->run = run_block<F>;
    self->block = &block;
    self->assembly = assembly;
    self->outer = coroutine;
    if (assembly) {
        void **top = (void **)stack.top();
        top[-1] = nullptr;
        top[-2] = (void *)begin_coroutine;
        self->here_stack = top - 8;
    } else {
        getcontext(&self->here);
        self->here.uc_stack.ss_sp = stack.bottom();
        self->here.uc_stack.ss_size = size;
        makecontext(&self->here, begin_coroutine, 0);
    }
    while (!self->done) {
        coroutine = self;
        if (assembly) switch_context(&self->home_stack, self->here_stack);
        else swapcontext(&self->home, &self->here);
        coroutine = self->outer;
        work(2, 20);
    }
    stack.release();
    free(self);
}

template <class F> NOINLINE static void on_split_stack(F block) {
    size_t page = 4096, half = 32768;
    char *region = (char *)mmap(nullptr, page + 2 * half, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    mmap(region + page, half, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    // With other rights, or the kernel would make one mapping of the two.
    mmap(region + page + half, half, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    call_on(region + page + half + 512, run_block<F>, &block);
    munmap(region, page + 2 * half);
}

static thread_local void (*handled)(void *);
static thread_local void *handled_block;

static void in_handler_of_a_signal(int signal) {
    mix(signal);
    handled(handled_block);
}

template <class F> NOINLINE static void in_handler(int signal, int flags, F block) {
    struct sigaction action = {}, before = {};
    action.sa_handler = in_handler_of_a_signal;
    action.sa_flags = flags;
    sigaction(signal, &action, &before);
    auto outer = handled;
    auto outer_block = handled_block;
    handled = run_block<F>;
    handled_block = &block;
    // Not by pthread_kill, of which a SIGPROF may be merged with a sample.
    mix(tgkill(getpid(), gettid(), signal));
    handled = outer;
    handled_block = outer_block;
    struct sigaction after = {};
    sigaction(signal, &before, &after);
    mix(after.sa_flags & ~0x04000000);
    mix(after.sa_handler == in_handler_of_a_signal);
}

template <class F> NOINLINE static void on_alternate_stack(size_t size, int flags, F block) {
    stack_t before, again;
    mix(sigaltstack(nullptr, &before));
    mix(before.ss_flags);
    Painted stack(size);
    stack_t own = {};
    own.ss_sp = stack.bottom();
    own.ss_size = size;
    mix(sigaltstack(&own, nullptr));
    auto on_it = [&] {
        stack_t inside;
        sigaltstack(nullptr, &inside);
        mix(inside.ss_flags);
        mix(inside.ss_size);
        char here;
        mix(&here > stack.bottom() && &here < stack.top());
        block();
    };
    in_handler(SIGUSR1, SA_ONSTACK | flags, on_it);
    mix(sigaltstack(&before, &again));
    mix(again.ss_flags);
    mix(again.ss_size);
    mix(again.ss_sp == stack.bottom());
    stack.release();
}

// Where a stack overflows and the program's own handler gets it out.
static sigjmp_buf out_of_overflow;
static void out_of_the_stack(int) { siglongjmp(out_of_overflow, 1); }
NOINLINE static u64 falls(u64 depth) {
    volatile char room[512];
    room[depth % 512] = 1;
    u64 below = falls(depth + 1);
    return below + room[depth % 512];
}
NOINLINE static void overflows() {
    Painted *stack = new Painted(65536);
    stack_t own = {}, before;
    own.ss_sp = stack->bottom();
    own.ss_size = 65536;
    struct sigaction action = {}, old;
    action.sa_handler = out_of_the_stack;
    action.sa_flags = SA_ONSTACK;
    sigaltstack(&own, &before);
    sigaction(SIGSEGV, &action, &old);
    if (!sigsetjmp(out_of_overflow, 1)) mix(falls(0));
    else mix(99);
    sigaction(SIGSEGV, &old, nullptr);
    mix(sigaltstack(&before, nullptr));
    stack->release();
    delete stack;
}

// Children.

enum Fork { BY_FORK, BY_SYSTEM_CALL };

template <class F> NOINLINE static void in_child(Fork how, F block) {
    u64 *shared = (u64 *)mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pid_t child = how == BY_FORK ? fork() : (pid_t)system_call(SYS_fork);
    if (child == 0) {
        sum = 5;
        block();
        *shared = sum;
        if (how == BY_FORK) _exit(9);
        system_call(SYS_exit_group, 9);
    }
    int status = 0;
    mix(waitpid(child, &status, 0) == child);
    mix(status);
    mix(*shared);
    munmap(shared, 4096);
}

extern char **environ;

static void spawns() {
    pid_t child;
    const char *words[] = {own_path, "after", "spawned", nullptr};
    mix(posix_spawn(&child, own_path, nullptr, nullptr, (char **)words, environ));
    int status = 0;
    waitpid(child, &status, 0);
    mix(status);
}

NOINLINE static void vforks() {
    pid_t child = vfork();
    if (child == 0) {
        execl(own_path, own_path, "after", "vforked", (char *)nullptr);
        _exit(1);
    }
    int status = 0;
    waitpid(child, &status, 0);
    mix(status);
}

static void shells() {
    mix(system("exit 3"));
    FILE *from = popen("echo 12345", "r");
    long number = 0;
    mix(fscanf(from, "%ld", &number));
    mix(number);
    mix(pclose(from));
}

// Ways out of a function.

NOINLINE static void jumps_from(jmp_buf &to, int depth, int value) {
    if (depth == 0) {
        mix(leaf(value));
        longjmp(to, value + 1);
    }
    jumps_from(to, depth - 1, value);
    asm volatile("");
}
NOINLINE static void jumps(int depth, int times) {
    for (volatile int i = 0; i < times; i++) {
        jmp_buf to;
        int value = setjmp(to);
        if (value == 0) jumps_from(to, depth, i);
        mix(value + deep(3, i));
    }
}

struct Thrown { int value; };
struct Undone {
    int value;
    ~Undone() { mix(value + leaf(value)); }
};
NOINLINE static void throws_from(int depth, int value) {
    Undone undone{depth};
    if (depth == 0) throw Thrown{value};
    try {
        throws_from(depth - 1, value);
    } catch (long) {
        mix(1);
    }
    asm volatile("");
}
NOINLINE static void throws(int depth, int times) {
    for (int i = 0; i < times; i++) {
        try {
            try {
                throws_from(depth, i);
            } catch (const Thrown &thrown) {
                mix(thrown.value + deep(4, i));
                if (i % 2) throw;
            }
        } catch (...) {
            mix(deep(4, i) + 2);
        }
    }
}

// The stack from here to `base` is copied, and later put back, as call/cc does.
struct Copied {
    u64 registers[6];
    char *stack;
    u64 next;
    char *copy;
    size_t size;
    int returns;
};
NOINLINE static u64 copies_at(int depth, Copied *copied, char *base) {
    if (depth > 0) {
        u64 below = copies_at(depth - 1, copied, base);
        asm volatile("" : "+r"(below));
        return below + leaf(depth);
    }
    if (save_context(copied)) return leaf(1);
    // With the caller's frame pointer and return address, which lie at `base`.
    copied->size = (size_t)(base + 16 - copied->stack);
    copied->copy = (char *)malloc(copied->size);
    memcpy(copied->copy, copied->stack, copied->size);
    return leaf(2);
}
NOINLINE static void puts_back(Copied *copied) {
    volatile char room[256];
    room[0] = 1;
    if ((char *)&room[0] + 4096 > copied->stack) {
        puts_back(copied);
        room[1] = 2;
        return;
    }
    memcpy(copied->stack, copied->copy, copied->size);
    load_context(copied);
}
NOINLINE static void returns_again(Copied *copied, int depth, int times) {
    mix(copies_at(depth, copied, (char *)__builtin_frame_address(0)));
    for (int i = 0; i < 10; i++) mix(deep(depth, i));
    if (++copied->returns < times) puts_back(copied);
}
NOINLINE static void copies_the_stack(int depth, int times) {
    Copied *copied = (Copied *)calloc(1, sizeof *copied);
    returns_again(copied, depth, times);
    mix(copied->returns);
    free(copied->copy);
    free(copied);
}

static int compare(const void *one, const void *two) {
    return (int)(leaf(*(const int *)one) & 1023) - (int)(leaf(*(const int *)two) & 1023);
}
static void sorts(int count) {
    int *values = new int[count];
    for (int i = 0; i < count; i++) values[i] = i * 7919 % 10007;
    qsort(values, count, sizeof *values, compare);
    for (int i = 0; i < count; i++) mix(values[i]);
    delete[] values;
}

static void walks_back(int times) {
    for (int i = 0; i < times; i++) {
        void *addresses[64];
        int count = backtrace(addresses, 64);
        mix(count);
        mix(leaf(i));
    }
}

// Signals and timers.

static volatile sig_atomic_t arrived;
static void counts(int) { arrived = arrived + 1; }
static sigjmp_buf out_of_handler;
static void leaves(int) {
    arrived = arrived + 1;
    siglongjmp(out_of_handler, 1);
}

NOINLINE static void has_a_timer(int which, int flags, int times) {
    int signal = which == ITIMER_REAL ? SIGALRM : which == ITIMER_PROF ? SIGPROF : SIGVTALRM;
    struct sigaction action = {}, before, after;
    action.sa_handler = counts;
    action.sa_flags = flags;
    sigaction(signal, &action, &before);
    mix(before.sa_handler == SIG_DFL);
    arrived = 0;
    itimerval each = {{0, 1000}, {0, 1000}}, none = {};
    mix(setitimer(which, &each, nullptr));
    for (u64 i = 0; arrived < times; i++) {
        volatile u64 result = deep(5, i);
        (void)result;
    }
    mix(setitimer(which, &none, &each));
    mix(each.it_interval.tv_usec);
    sigaction(signal, &before, &after);
    mix(after.sa_handler == counts);
    mix(getitimer(ITIMER_PROF, &each));
    mix(each.it_value.tv_sec + each.it_value.tv_usec);
}

NOINLINE static void jumps_out_of_handlers(int times) {
    struct sigaction action = {}, before;
    action.sa_handler = leaves;
    sigaction(SIGALRM, &action, &before);
    sigset_t blocked, old;
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGALRM);
    arrived = 0;
    itimerval each = {{0, 1000}, {0, 1000}}, none = {};
    if (!sigsetjmp(out_of_handler, 1)) setitimer(ITIMER_REAL, &each, nullptr);
    if (arrived < times)
        for (u64 i = 0;; i++) {
            volatile u64 result = deep(5, i);
            (void)result;
        }
    pthread_sigmask(SIG_BLOCK, &blocked, &old);
    setitimer(ITIMER_REAL, &none, nullptr);
    struct sigaction ignored = {};
    ignored.sa_handler = SIG_IGN;
    sigaction(SIGALRM, &ignored, nullptr);
    pthread_sigmask(SIG_SETMASK, &old, nullptr);
    sigaction(SIGALRM, &before, nullptr);
    mix(1);
}

static int told_code, told_value;
static void is_told(int, siginfo_t *about, void *) {
    told_code = about->si_code;
    told_value = about->si_value.sival_int;
}
NOINLINE static void sends_itself(int signal, int times) {
    struct sigaction action = {}, before;
    action.sa_sigaction = is_told;
    action.sa_flags = SA_SIGINFO;
    sigaction(signal, &action, &before);
    for (int i = 0; i < times; i++) {
        told_code = told_value = 0;
        sigval value;
        value.sival_int = i;
        mix(pthread_sigqueue(pthread_self(), signal, value));
        mix(told_code);
        mix(told_value + leaf(i));
        raise(signal);
        mix(told_code);
    }
    sigaction(signal, &before, nullptr);
}

NOINLINE static void waits_for_a_signal() {
    sigset_t set, before;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR2);
    pthread_sigmask(SIG_BLOCK, &set, &before);
    timespec brief = {0, 3000000};
    siginfo_t about = {};
    mix(sigtimedwait(&set, &about, &brief));
    mix(errno);
    pthread_kill(pthread_self(), SIGUSR2);
    sigset_t pending;
    sigpending(&pending);
    mix(sigismember(&pending, SIGUSR2));
    mix(sigtimedwait(&set, &about, &brief));
    mix(about.si_code);
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

// Waits: for three milliseconds, or for long and interrupted by a timer of the program's.
NOINLINE static void waits(int kind, bool interrupted) {
    struct sigaction action = {}, before;
    action.sa_handler = counts;
    sigaction(SIGALRM, &action, &before);
    itimerval each = {{0, 500}, {0, 500}}, none = {};
    // A signal does not end a wait for a condition.
    interrupted = interrupted && kind != 5;
    if (interrupted) setitimer(ITIMER_REAL, &each, nullptr);
    timespec brief = {interrupted ? 20 : 0, 3000000}, later;
    clock_gettime(CLOCK_REALTIME, &later);
    later.tv_sec += brief.tv_sec;
    later.tv_nsec += brief.tv_nsec;
    if (later.tv_nsec >= 1000000000) later.tv_sec++, later.tv_nsec -= 1000000000;
    timeval brief_too = {brief.tv_sec, 3000};
    errno = 0;
    long result = 0;
    switch (kind) {
    case 0: result = nanosleep(&brief, nullptr); break;
    case 1: result = ppoll(nullptr, 0, &brief, nullptr); break;
    case 2: result = select(0, nullptr, nullptr, nullptr, &brief_too); break;
    case 3: {
        int set = epoll_create1(0);
        epoll_event event;
        result = epoll_wait(set, &event, 1, interrupted ? 20000 : 3);
        int error = errno;
        system_call(SYS_close, set);
        errno = error;
        break;
    }
    case 4: {
        static sem_t semaphore;
        sem_init(&semaphore, 0, 0);
        result = sem_timedwait(&semaphore, &later);
        break;
    }
    case 5: {
        pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
        pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
        pthread_mutex_lock(&mutex);
        result = pthread_cond_timedwait(&condition, &mutex, &later);
        pthread_mutex_unlock(&mutex);
        break;
    }
    case 6: {
        int ends[2];
        char byte;
        mix(socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
        setsockopt(ends[0], SOL_SOCKET, SO_RCVTIMEO, &brief_too, sizeof brief_too);
        result = recv(ends[0], &byte, 1, 0);
        int error = errno;
        system_call(SYS_close, ends[0]);
        system_call(SYS_close, ends[1]);
        errno = error;
        break;
    }
    case 7: result = clock_nanosleep(CLOCK_MONOTONIC, 0, &brief, nullptr); break;
    case 8: result = usleep(interrupted ? 900000 : 3000); break;
    case 9: {
        result = pselect(0, nullptr, nullptr, nullptr, &brief, nullptr);
        break;
    }
    }
    mix(result);
    mix(errno);
    setitimer(ITIMER_REAL, &none, nullptr);
    sigaction(SIGALRM, &before, nullptr);
}

// Threads that end in other ways than by returning.

static void undo(void *count) { ++*(int *)count; }
static void *is_canceled(void *count) {
    sum = 3;
    pthread_cleanup_push(undo, count);
    for (;;) {
        volatile u64 result = deep(6, 1);
        (void)result;
        pthread_testcancel();
    }
    pthread_cleanup_pop(0);
    return nullptr;
}
// Without a cleanup: C++ ends the program where one is left at an instruction that cannot throw.
static void *is_canceled_anywhere(void *) {
    int before;
    pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &before);
    for (;;) {
        volatile u64 result = deep(6, 1);
        (void)result;
    }
}
static void *sleeps_until_canceled(void *count) {
    pthread_cleanup_push(undo, count);
    for (;;) sleep(10);
    pthread_cleanup_pop(0);
    return nullptr;
}
NOINLINE static void exits_from(int depth) {
    if (depth == 0) pthread_exit((void *)leaf(5));
    exits_from(depth - 1);
    asm volatile("");
}
static void *exits_deep(void *) {
    exits_from(10);
    return nullptr;
}
static void *exits_by_system_call(void *) {
    volatile u64 result = deep(6, 1);
    (void)result;
    for (;;) system_call(SYS_exit, 0);
}
NOINLINE static void ends_threads(int kind, int count) {
    void *(*bodies[])(void *) = {is_canceled, is_canceled_anywhere, sleeps_until_canceled, exits_deep, exits_by_system_call};
    for (int i = 0; i < count; i++) {
        pthread_t thread;
        int undone = 0;
        mix(pthread_create(&thread, nullptr, bodies[kind], &undone));
        work(5, 200);
        if (kind < 3) mix(pthread_cancel(thread));
        void *result = nullptr;
        mix(pthread_join(thread, &result));
        mix((u64)result);
        mix(undone);
    }
}

// Libraries and code.

NOINLINE static void loads(int times) {
    for (int i = 0; i < times; i++) {
        void *library = dlopen("./library.so", i % 2 ? RTLD_NOW : RTLD_LAZY);
        if (!library) return mix(0);
        auto function = (unsigned long (*)(int, unsigned long (*)(int)))dlsym(library, "library_work");
        for (int j = 0; j < 200; j++) mix(function(5, library_back));
        mix(dlclose(library));
    }
}

NOINLINE static void runs_unreadable_code(int times) {
    static const unsigned char code[] = {
        0xb9, 0x00, 0x08, 0x00, 0x00, // mov $2048, %ecx
        0xff, 0xc9, 0x75, 0xfc,       // dec %ecx; jnz
        0xb8, 0x2a, 0x00, 0x00, 0x00, 0xc3, // mov $42, %eax; ret
    };
    char *page = (char *)mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memcpy(page, code, sizeof code);
    mix(mprotect(page, 4096, PROT_EXEC));
    for (int i = 0; i < times; i++) mix(((int (*)())page)());
    munmap(page, 4096);
}

static u64 called_from_code() { return deep(4, 9); }
NOINLINE static void runs_code_of_its_own(bool with_frame, int times) {
    static const unsigned char bare[] = {0x48, 0x83, 0xec, 0x08, 0xff, 0xd7, 0x48, 0x83, 0xc4, 0x08, 0xc3};
    static const unsigned char framed[] = {0x55, 0x48, 0x89, 0xe5, 0xff, 0xd7, 0x5d, 0xc3};
    char *page = (char *)mmap(nullptr, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (int i = 0; i < times; i++) {
        int at = i % 50 * 16;
        with_frame ? memcpy(page + at, framed, sizeof framed) : memcpy(page + at, bare, sizeof bare);
        mix(((u64 (*)(u64 (*)()))(page + at))(called_from_code));
    }
    munmap(page, 4096);
}

// What a program may ask about itself.
static void asks() {
    rlimit limit;
    getrlimit(RLIMIT_NOFILE, &limit);
    mix(limit.rlim_cur);
    getrlimit(RLIMIT_STACK, &limit);
    mix(limit.rlim_cur);
    int number = (int)syscall(SYS_openat, AT_FDCWD, "/dev/null", 0);
    mix(number);
    system_call(SYS_close, number);
    struct sigaction action;
    for (int signal = 1; signal < 32; signal++) {
        if (signal == SIGKILL || signal == SIGSTOP) continue;
        sigaction(signal, nullptr, &action);
        mix(action.sa_handler == SIG_DFL);
        // Not SA_RESTORER, which the C library adds.
        mix(action.sa_flags & ~0x4000000);
        for (int masked = 1; masked < 65; masked++) mix(sigismember(&action.sa_mask, masked));
    }
    sigset_t mask;
    pthread_sigmask(SIG_SETMASK, nullptr, &mask);
    for (int signal = 1; signal < 65; signal++) mix(sigismember(&mask, signal));
    stack_t stack;
    sigaltstack(nullptr, &stack);
    mix(stack.ss_flags);
}

// Sandboxes: after these, csprof may sample nothing.
static void filters() {
    sock_filter filter[] = {BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    sock_fprog program = {1, filter};
    mix(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
    mix(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program));
}
static volatile char selector;
static void dispatches(int times) {
    long result = prctl(59 /* PR_SET_SYSCALL_USER_DISPATCH */, 1, 0, 0, &selector);
    mix(result);
    if (result == 0) {
        selector = 1;
        work(6, times);
        selector = 0;
        mix(prctl(59, 0, 0, 0, 0));
    }
}

// Ends.

[[noreturn]] static void killed_by(int signal) {
    struct sigaction action = {};
    action.sa_handler = SIG_DFL;
    if (signal != SIGKILL) sigaction(signal, &action, nullptr);
    sigset_t none;
    sigemptyset(&none);
    pthread_sigmask(SIG_SETMASK, &none, nullptr);
    kill(getpid(), signal);
    // It dies at once. Where it does not, it shall not hang.
    timespec second = {1, 0};
    for (int i = 0; i < 5; i++) nanosleep(&second, nullptr);
    _exit(99);
}
static void *works_on(void *) {
    sum = 1;
    work(6, 5000);
    say("thread works on");
    return nullptr;
}
[[noreturn]] static void main_thread_exits() {
    pthread_t thread;
    pthread_create(&thread, nullptr, works_on, nullptr);
    // Another thread's end lets the main thread return, perhaps before that one has spoken.
    if (syscall(SYS_gettid) != getpid()) pthread_join(thread, nullptr);
    pthread_exit(nullptr);
}
[[noreturn]] static void replaced() {
    execl(own_path, own_path, "after", "replaced", (char *)nullptr);
    _exit(1);
}
NOINLINE static u64 reads_nothing(u64 *from) { return *(volatile u64 *)from; }

static void begin(int count, char **words) {
    own_path = words[0];
    rlimit none = {0, 0};
    setrlimit(RLIMIT_CORE, &none);
    if (count > 2) {
        work(5, 500);
        say(words[2]);
        _exit(3);
    }
}
