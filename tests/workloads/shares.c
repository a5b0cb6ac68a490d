/* Four threads with names and known amounts of CPU time: 200, 400, 600 and 800 ms. The amounts are
 * read from the thread's own clock, so that they do not depend on the speed of the machine. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <time.h>

static volatile unsigned long sink;

__attribute__((noinline)) static void work(long milliseconds) {
    struct timespec used;
    do {
        for (unsigned long i = 0; i < 100000; i++) sink += i * i;
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    } while (used.tv_sec * 1000 + used.tv_nsec / 1000000 < milliseconds);
}

static void *worker(void *number) {
    char name[16];
    snprintf(name, sizeof name, "worker %ld", (long)number);
    pthread_setname_np(pthread_self(), name);
    work(200 * (long)number);
    return NULL;
}

int main(void) {
    pthread_t threads[4];
    for (long i = 0; i < 4; i++) pthread_create(&threads[i], NULL, worker, (void *)(i + 1));
    for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
    return 0;
}
