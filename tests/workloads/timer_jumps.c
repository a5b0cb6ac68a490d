/* A timer's handler leaves a computation by siglongjmp, whatever it is in the middle of, a return
 * among it: what interpreters do at a time limit. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <sys/time.h>

static volatile unsigned long sink;
static sigjmp_buf back;
static volatile sig_atomic_t armed;

__attribute__((noinline)) static unsigned long leaf(unsigned long n) { return n ^ (sink >> 3); }
__attribute__((noinline)) static unsigned long tree(int depth) {
    if (depth == 0) return leaf(1);
    unsigned long sum = tree(depth - 1);
    sum += tree(depth - 1);
    sink = sum;
    return sum;
}

static void out_of_time(int signal) {
    if (!armed) return;
    armed = 0;
    siglongjmp(back, signal);
}

int main(void) {
    struct sigaction action = {.sa_handler = out_of_time};
    struct itimerval often = {{0, 700}, {0, 700}}, never = {{0, 0}, {0, 0}};
    int left = 0;
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &often, NULL);
    for (volatile int round = 0; round < 400; round++) {
        if (sigsetjmp(back, 1) == 0) {
            armed = 1;
            for (;;) tree(12);
        }
        left++;
    }
    setitimer(ITIMER_REAL, &never, NULL);
    printf("left %d\n", left);
    return 0;
}
