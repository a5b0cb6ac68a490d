/* Waits again and again for the profiling signal, which it has blocked otherwise and sends itself before, and works when
 * none is there. */
#include <signal.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

static volatile sig_atomic_t came;

__attribute__((noinline)) static void work(long ms) {
    struct timespec begin, now;
    volatile unsigned sum = 0;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
    do {
        for (unsigned i = 0; i < 10000; i++) sum += i;
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    } while ((now.tv_sec - begin.tv_sec) * 1000 + (now.tv_nsec - begin.tv_nsec) / 1000000 < ms);
}

static void on(int signal) {
    (void)signal;
    came++;
}

int main(void) {
    struct sigaction action = {.sa_handler = on};
    sigset_t profiling, none;
    sigemptyset(&none);
    sigemptyset(&profiling);
    sigaddset(&profiling, SIGPROF);
    sigaction(SIGPROF, &action, NULL);
    sigprocmask(SIG_BLOCK, &profiling, NULL);
    for (int i = 0; i < 60; i++) {
        kill(getpid(), SIGPROF);
        sigsuspend(&none);
        work(10);
    }
    printf("came %d\n", came);
    return 0;
}
