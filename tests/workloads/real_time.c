/* A real-time thread makes threads on the one processor where others of no priority do the same. Whoever holds
 * what both need must come to run: says how much CPU time the real-time thread spent. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

static volatile int stop;

static void *brief(void *argument) { return argument; }

static void *creates(void *argument) {
    while (!stop) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, brief, NULL) == 0) pthread_join(thread, NULL);
    }
    return argument;
}

/* CPU time of this thread. */
static long used_ns(void) {
    struct timespec used;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    return used.tv_sec * 1000000000L + used.tv_nsec;
}

int main(void) {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    sched_setaffinity(0, sizeof one, &one);
    pthread_t others[4];
    for (int i = 0; i < 4; i++) pthread_create(&others[i], NULL, creates, NULL);
    struct sched_param priority = {.sched_priority = 10};
    /* Where that is not allowed, the threads are equal, and nothing is tried. */
    pthread_setschedparam(pthread_self(), SCHED_FIFO, &priority);
    long most = 0;
    int long_ones = 0;
    for (int i = 0; i < 300; i++) {
        pthread_t thread;
        long before = used_ns();
        if (pthread_create(&thread, NULL, brief, NULL) == 0) pthread_join(thread, NULL);
        long used = used_ns() - before;
        if (used > most) most = used;
        long_ones += used > 50000000;
        usleep(1000);
    }
    stop = 1;
    for (int i = 0; i < 4; i++) pthread_join(others[i], NULL);
    /* The kernel lets others run after 950 ms only. */
    int is_little = most < 500000000 && long_ones <= 10;
    printf("CPU time: %s\n", is_little ? "little" : "that of a spinning thread");
    return 0;
}
