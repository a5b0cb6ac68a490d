/* Two phases, one after the other: each thread spends CPU time in `first`, then in `second`.
 *
 *   phases MILLISECONDS [threads | fork | exec | kill]
 *
 * threads: three threads do so at one time. fork: the parent does the first phase and its child the
 * second. exec: the program executes itself for the second phase. kill: it ends by SIGKILL.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static long milliseconds;

static double cpu_time(void)
{
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return time.tv_sec * 1e3 + time.tv_nsec / 1e6;
}

static void work(void)
{
    volatile double sum = 0;
    double end = cpu_time() + milliseconds;
    while (cpu_time() < end)
        for (int i = 0; i < 10000; i++)
            sum += i;
}

__attribute__((noinline)) void first(void)
{
    work();
    __asm__ volatile("");
}

__attribute__((noinline)) void second(void)
{
    work();
    __asm__ volatile("");
}

static void *both(void *barrier)
{
    first();
    if (barrier)
        pthread_barrier_wait(barrier);
    second();
    return 0;
}

int main(int argc, char **argv)
{
    const char *mode = argc > 2 ? argv[2] : "";
    milliseconds = atol(argv[1]);
    if (!strcmp(mode, "threads")) {
        pthread_t threads[3];
        pthread_barrier_t barrier;
        pthread_barrier_init(&barrier, 0, 3);
        for (int i = 0; i < 3; i++)
            pthread_create(&threads[i], 0, both, &barrier);
        for (int i = 0; i < 3; i++)
            pthread_join(threads[i], 0);
    } else if (!strcmp(mode, "fork")) {
        first();
        if (fork() == 0) {
            second();
            return 0;
        }
        wait(0);
    } else if (!strcmp(mode, "exec")) {
        first();
        execl("/proc/self/exe", argv[0], argv[1], "executed", (char *)0);
    } else if (!strcmp(mode, "executed")) {
        second();
    } else {
        both(0);
        if (!strcmp(mode, "kill"))
            raise(SIGKILL);
    }
    puts("done");
    return 0;
}
