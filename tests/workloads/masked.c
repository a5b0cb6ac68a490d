/* Blocks all signals for good, as some programs do in each of their threads, and then works: 500 ms
 * of CPU time in the main thread, and 500 ms in a thread that inherits the mask. */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <time.h>

static volatile unsigned long sink;

__attribute__((noinline)) static void work(void) {
    struct timespec used;
    do {
        for (unsigned long i = 0; i < 100000; i++) sink += i * i;
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    } while (used.tv_sec * 1000 + used.tv_nsec / 1000000 < 500);
}

static void *masked(void *unused) {
    pthread_setname_np(pthread_self(), "masked");
    work();
    return unused;
}

int main(void) {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, NULL);
    pthread_t thread;
    pthread_create(&thread, NULL, masked, NULL);
    work();
    pthread_join(thread, NULL);
    return 0;
}
