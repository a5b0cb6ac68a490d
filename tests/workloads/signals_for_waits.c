/* Waits again and again for the profiling signal, which it has blocked otherwise and sends itself before, and works when
 * none is there. Arguments: how often; the CPU time of that work, and of work before each wait, in microseconds. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static volatile sig_atomic_t came;

__attribute__((noinline)) static void work(long us) {
    struct timespec begin, now;
    volatile unsigned sum = 0;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
    do {
        for (unsigned i = 0; i < 1000; i++) sum += i;
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    } while ((now.tv_sec - begin.tv_sec) * 1000000 + (now.tv_nsec - begin.tv_nsec) / 1000 < us);
}

static void on(int signal) {
    (void)signal;
    came++;
}

int main(int count, char **arguments) {
    int rounds = count > 3 ? atoi(arguments[1]) : 0;
    struct sigaction action = {.sa_handler = on};
    sigset_t profiling, none;
    sigemptyset(&none);
    sigemptyset(&profiling);
    sigaddset(&profiling, SIGPROF);
    sigaction(SIGPROF, &action, NULL);
    sigprocmask(SIG_BLOCK, &profiling, NULL);
    for (int i = 0; i < rounds; i++) {
        kill(getpid(), SIGPROF);
        work(atol(arguments[3]));
        sigsuspend(&none);
        work(atol(arguments[2]));
    }
    printf("came %d\n", came);
    return 0;
}
