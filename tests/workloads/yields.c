// Calls sched_yield(2) known numbers of times on known call paths: `yields HOW`.
//
//   plain    TURNS turns, and then TAILS tail calls and RAISES signals
//   threads  the turns in two threads at once, and not in the main thread
//   fork     the turns in the parent, and again in a child
//   vfork    the turns, and calls in a child that has the parent's memory, which are not the parent's
//   clone    the same in a child that runs at the same time, made by clone(2)
//   stacks   the turns on a stack of two pages, of a context of its own
//
// A turn is OFTEN calls in one function, 1 in another, and some work. Each call must return 0 and
// leave errno alone.
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

enum { TURNS = 40, OFTEN = 7, TAILS = 9, RAISES = 5, ERRNO = 77 };

static __thread volatile unsigned long sink;

static void check(int result) {
    if (result != 0 || errno != ERRNO) abort();
}

__attribute__((noinline)) static void often(void) {
    for (int i = 0; i < OFTEN; i++) check(sched_yield());
    sink++;
}

__attribute__((noinline)) static void seldom(void) {
    check(sched_yield());
    sink++;
}

__attribute__((noinline)) static void compute(void) {
    for (int i = 0; i < 2000000; i++) sink += i;
}

__attribute__((noinline)) static void turns(void) {
    errno = ERRNO;
    for (int i = 0; i < TURNS; i++) {
        often();
        seldom();
        compute();
    }
    sink++;
}

// The second call is a jump: it returns to the caller, through the slot in which the first one's
// sample has found this function's return address.
__attribute__((noinline)) static int tail(void) {
    check(sched_yield());
    sink++;
    return sched_yield();
}

__attribute__((noinline)) static void tails(void) {
    for (int i = 0; i < TAILS; i++) check(tail());
    sink++;
}

__attribute__((noinline)) static void on_signal(int signal) {
    check(sched_yield());
    sink += signal;
}

__attribute__((noinline)) static void signals(void) {
    struct sigaction action = {.sa_handler = on_signal};
    sigaction(SIGUSR1, &action, NULL);
    for (int i = 0; i < RAISES; i++) raise(SIGUSR1);
    sink++;
}

static void *thread(void *nothing) {
    turns();
    return nothing;
}

static void wait_for(pid_t child) {
    int status = 0;
    if (waitpid(child, &status, 0) != child || status) abort();
}

static int child_of_clone(void *nothing) {
    for (int i = 0; i < 20000; i++) sched_yield();
    return nothing != NULL;
}

static ucontext_t outside, inside;

static void on_two_pages(void) {
    turns();
}

int main(int argc, char **argv) {
    const char *how = argc > 1 ? argv[1] : "plain";
    if (!strcmp(how, "threads")) {
        pthread_t two[2];
        for (int i = 0; i < 2; i++)
            if (pthread_create(&two[i], NULL, thread, NULL)) return 1;
        for (int i = 0; i < 2; i++) pthread_join(two[i], NULL);
    } else if (!strcmp(how, "fork")) {
        turns();
        pid_t child = fork();
        if (child == 0) {
            turns();
            _exit(0);
        }
        wait_for(child);
    } else if (!strcmp(how, "vfork")) {
        turns();
        pid_t child = vfork();
        if (child == 0) {
            for (int i = 0; i < 1000; i++) sched_yield();
            _exit(0);
        }
        wait_for(child);
    } else if (!strcmp(how, "clone")) {
        enum { SIZE = 1 << 16 };
        char *stack = malloc(SIZE);
        pid_t child = clone(child_of_clone, stack + SIZE, CLONE_VM | SIGCHLD, NULL);
        turns();
        wait_for(child);
    } else if (!strcmp(how, "stacks")) {
        char *pages = mmap(NULL, 4 * 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        mprotect(pages + 4096, 2 * 4096, PROT_READ | PROT_WRITE);
        getcontext(&inside);
        inside.uc_stack.ss_sp = pages + 4096;
        inside.uc_stack.ss_size = 2 * 4096;
        inside.uc_link = &outside;
        makecontext(&inside, on_two_pages, 0);
        swapcontext(&outside, &inside);
    } else {
        turns();
        tails();
        signals();
    }
    puts("done");
    return 3;
}
