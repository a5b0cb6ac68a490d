/* Stacks that have no room for anybody else: each is full but for what its code needs, and lies in
 * painted memory, whose paint must be as it was in the end. Coroutines of 4 KiB; alternate stacks of 8192
 * bytes, of which handlers use most; handlers that are suspended on their alternate stack by
 * swapcontext, or left by siglongjmp; recursion until the stack is full, with a handler for that. */
#define _GNU_SOURCE
#include <limits.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

enum { BELOW = 65536, PAINT = 0xa5 };

static volatile unsigned long sink;
__attribute__((noinline)) static void burn(unsigned long n) {
    unsigned long sum = 0;
    for (unsigned long i = 0; i < n; i++) sum += i ^ (sum >> 3);
    sink += sum;
}

/* Memory that is painted, with a stack on top of it. */
struct painted { unsigned char *low; size_t size; };
static struct painted paint(size_t size) {
    struct painted it = {mmap(NULL, BELOW + size + 4096, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), size};
    memset(it.low, PAINT, BELOW + size + 4096);
    return it;
}
static const char *untouched(struct painted it) {
    for (size_t i = 0; i < BELOW; i++) if (it.low[i] != PAINT) return "OVERWRITTEN BELOW";
    for (size_t i = 0; i < 4096; i++)
        if (it.low[BELOW + it.size + i] != PAINT) return "OVERWRITTEN ABOVE";
    return "untouched";
}
static void alternate(struct painted it, int flags) {
    stack_t stack = {.ss_sp = it.low + BELOW, .ss_size = it.size, .ss_flags = flags};
    if (sigaltstack(&stack, NULL)) perror("sigaltstack");
}
static void handle(int signal, void (*handler)(int, siginfo_t *, void *), int flags) {
    struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO | flags};
    sigemptyset(&action.sa_mask);
    if (sigaction(signal, &action, NULL)) perror("sigaction");
}

/* Coroutines of 4 KiB, of which the last kilobyte is in use. */
static ucontext_t program, coroutine, suspended;
static void in_coroutine(void) {
    volatile char room[2600];
    for (int i = 0; i < 60; i++) {
        room[i] = (char)i;
        burn(1000000);
        swapcontext(&coroutine, &program);
    }
    sink += room[7];
}
static void coroutines(void) {
    struct painted stack = paint(4096);
    getcontext(&coroutine);
    coroutine.uc_stack.ss_sp = stack.low + BELOW;
    coroutine.uc_stack.ss_size = stack.size;
    coroutine.uc_link = &program;
    makecontext(&coroutine, in_coroutine, 0);
    for (int i = 0; i < 61; i++) swapcontext(&program, &coroutine);
    printf("coroutine of 4 KiB: %s\n", untouched(stack));
}

/* Handlers that leave a few hundred bytes of an alternate stack of 8192. */
static int handled, on_it;
static sigjmp_buf back;
static void measure(int signal, siginfo_t *info, void *context) {
    (void)signal, (void)info, (void)context;
    char here;
    stack_t now;
    sigaltstack(NULL, &now);
    /* From the end of the kernel's frame to the beginning of the stack. */
    handled = (int)(&here - (char *)now.ss_sp);
}
__attribute__((noinline)) static void fill(int bytes) {
    volatile char *room = __builtin_alloca((size_t)bytes);
    for (int i = 0; i < bytes; i += 64) room[i] = 1;
    burn(1500000);
    sink += room[bytes / 2];
}
static int depth;
static void use_most(int signal, siginfo_t *info, void *context) {
    (void)signal, (void)info, (void)context;
    stack_t now;
    sigaltstack(NULL, &now);
    on_it += now.ss_flags == SS_ONSTACK;
    fill(depth);
}
static void alternate_stacks(void) {
    struct painted stack = paint(8192);
    alternate(stack, 0);
    handle(SIGUSR1, measure, SA_ONSTACK);
    raise(SIGUSR1);
    depth = handled - 700;
    handle(SIGUSR1, use_most, SA_ONSTACK);
    for (int i = 0; i < 40; i++) raise(SIGUSR1);
    printf("alternate stack of 8192: on it %d, %s\n", on_it, untouched(stack));
}

/* A handler that goes away from its alternate stack, and comes back to it. */
static int came_back;
static void go_away(int signal, siginfo_t *info, void *context) {
    (void)signal, (void)info, (void)context;
    volatile int local[64];
    for (int i = 0; i < 64; i++) local[i] = i * came_back;
    swapcontext(&suspended, &program);
    for (int i = 0; i < 64; i++)
        if (local[i] != i * came_back) printf("overwritten: %d is %d\n", i, local[i]);
    came_back++;
}
static void raise_again(void) {
    for (;;) raise(SIGUSR2);
}
static void suspended_handlers(void) {
    struct painted stack = paint(65536), raiser = paint(65536);
    alternate(stack, 0);
    handle(SIGUSR2, go_away, SA_ONSTACK);
    getcontext(&suspended);
    suspended.uc_stack.ss_sp = raiser.low + BELOW;
    suspended.uc_stack.ss_size = raiser.size;
    makecontext(&suspended, raise_again, 0);
    for (int i = 0; i < 40; i++) {
        swapcontext(&program, &suspended);
        burn(1500000);
    }
    printf("suspended on it: came back %d, %s\n", came_back, untouched(stack));
}

static void jump(int signal, siginfo_t *info, void *context) {
    (void)signal, (void)info, (void)context;
    burn(300000);
    siglongjmp(back, 1);
}
static void left_handlers(void) {
    struct painted stack = paint(8192);
    alternate(stack, 0);
    handle(SIGUSR1, jump, SA_ONSTACK);
    volatile int jumped = 0;
    for (int i = 0; i < 100; i++) {
        if (sigsetjmp(back, 1) == 0) raise(SIGUSR1);
        else jumped++;
    }
    printf("left by a jump: %d, %s\n", jumped, untouched(stack));
}

/* Until the stack is full. */
__attribute__((noinline)) static unsigned long recurse(unsigned long deep) {
    volatile char room[1000];
    room[deep % 1000] = 1;
    burn(5);
    return recurse(deep + 1) + (unsigned long)room[3];
}
static void overflow(const char *where, int rounds) {
    handle(SIGSEGV, jump, SA_ONSTACK);
    volatile int overflowed = 0;
    for (int i = 0; i < rounds; i++) {
        if (sigsetjmp(back, 1) == 0) sink += recurse(1);
        else overflowed++;
    }
    signal(SIGSEGV, SIG_DFL);
    printf("%s: overflowed %d\n", where, overflowed);
}
static void *in_thread(void *argument) {
    (void)argument;
    struct painted stack = paint(8192);
    alternate(stack, 0);
    overflow("thread", 60);
    printf("in a thread: %s\n", untouched(stack));
    stack_t off = {.ss_flags = SS_DISABLE};
    sigaltstack(&off, NULL);
    return NULL;
}
static void *smallest(void *argument) {
    burn(30000000);
    return argument;
}

int main(void) {
    struct rlimit limit;
    getrlimit(RLIMIT_STACK, &limit);
    limit.rlim_cur = 1 << 20;
    setrlimit(RLIMIT_STACK, &limit);
    coroutines();
    alternate_stacks();
    suspended_handlers();
    left_handlers();
    overflow("main", 60);
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 1 << 18);
    pthread_t thread;
    pthread_create(&thread, &attributes, in_thread, NULL);
    pthread_join(thread, NULL);
    pthread_attr_setstacksize(&attributes, (size_t)PTHREAD_STACK_MIN);
    for (int i = 0; i < 4; i++) {
        pthread_create(&thread, &attributes, smallest, NULL);
        pthread_join(thread, NULL);
    }
    printf("threads of the smallest size\n");
    return 0;
}
