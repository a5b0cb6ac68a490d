/* A coroutine whose mask has SIGPROF, which the program adds to what getcontext(3) has kept, and which works. */
#include <signal.h>
#include <stdio.h>
#include <time.h>
#include <ucontext.h>

static ucontext_t outside, inside;
static char stack[1 << 16];
static int was_blocked;

__attribute__((noinline, noclone)) static void work_blocked(long ms) {
    struct timespec begin, now;
    volatile unsigned sum = 0;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
    do {
        for (unsigned i = 0; i < 10000; i++) sum += i;
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    } while ((now.tv_sec - begin.tv_sec) * 1000 + (now.tv_nsec - begin.tv_nsec) / 1000000 < ms);
}

static void in_coroutine(void) {
    sigset_t now;
    sigprocmask(SIG_BLOCK, NULL, &now);
    was_blocked = sigismember(&now, SIGPROF);
    for (int i = 0; i < 10; i++) {
        work_blocked(30);
        swapcontext(&inside, &outside);
    }
}

int main(void) {
    getcontext(&inside);
    sigaddset(&inside.uc_sigmask, SIGPROF);
    inside.uc_stack.ss_sp = stack;
    inside.uc_stack.ss_size = sizeof stack;
    inside.uc_link = &outside;
    makecontext(&inside, in_coroutine, 0);
    for (int i = 0; i < 10; i++) swapcontext(&outside, &inside);
    printf("blocked %d\n", was_blocked);
    return 0;
}
