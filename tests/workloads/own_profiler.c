/* A program with a profiler of its own: SIGPROF every 10 ms of CPU time. It works for 300 ms and then
 * gives SIGPROF back. What its handler saw is not printed. */
#include <signal.h>
#include <stdio.h>
#include <sys/time.h>
#include <time.h>

static volatile unsigned long sink;
static volatile sig_atomic_t ticks;

static void tick(int signal) { ticks += signal == SIGPROF; }

__attribute__((noinline)) static void work(void) {
    clock_t start = clock();
    do
        for (unsigned long i = 0; i < 100000; i++) sink += i * i;
    while (clock() - start < CLOCKS_PER_SEC * 3 / 10);
}

int main(void) {
    struct sigaction action = {.sa_handler = tick, .sa_flags = SA_RESTART};
    struct itimerval often = {{0, 10000}, {0, 10000}}, never = {{0, 0}, {0, 0}};
    sigaction(SIGPROF, &action, NULL);
    setitimer(ITIMER_PROF, &often, NULL);
    work();
    setitimer(ITIMER_PROF, &never, NULL);
    signal(SIGPROF, SIG_DFL);
    puts("done");
    return 0;
}
