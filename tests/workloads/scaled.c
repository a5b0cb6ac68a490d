/* Work that is divided among as many threads as are asked for, and work that each of them repeats:
 * `divided` takes 600 ms of CPU time of all together, `repeated` 150 ms of each, by the threads' own
 * clocks. So strong scaling loses what `repeated` takes of all threads but those of BASE; with a
 * second argument each thread has all of `divided`, and weak scaling loses nothing. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

static long threads;
static long divided_by;
static volatile unsigned long sink;

static long used_ms(void) {
    struct timespec used;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    return used.tv_sec * 1000 + used.tv_nsec / 1000000;
}

__attribute__((noinline, noclone)) static void divided(long until) {
    while (used_ms() < until)
        for (unsigned long i = 0; i < 20000; i++) sink += i * i;
}

__attribute__((noinline, noclone)) static void repeated(long until) {
    while (used_ms() < until)
        for (unsigned long i = 0; i < 20000; i++) sink += i ^ 3;
}

static void *worker(void *unused) {
    repeated(150);
    divided(150 + 600 / divided_by);
    return unused;
}

int main(int count, char **arguments) {
    pthread_t started[64];
    threads = atol(arguments[1]);
    divided_by = count > 2 ? 1 : threads;
    for (long i = 0; i < threads; i++) pthread_create(&started[i], 0, worker, 0);
    for (long i = 0; i < threads; i++) pthread_join(started[i], 0);
    return 0;
}
