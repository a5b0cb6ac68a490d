/* Blocks all signals around thread creation, as xz does; three threads work for 60 ms each, two of them
 * with all signals blocked. Prints what a thread believes about SIGPROF; with the argument "kernel" what the kernel knows, which is where a profiler that
 * must reach the thread differs. */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

#include "kernel_call.h"

static int ask_kernel;

static int prof_is_blocked(void) {
    sigset_t now;
    sigemptyset(&now);
    if (ask_kernel)
        kernel_call(SYS_rt_sigprocmask, SIG_BLOCK, NULL, &now, 8);
    else
        pthread_sigmask(SIG_BLOCK, NULL, &now);
    return sigismember(&now, SIGPROF);
}

static volatile unsigned long sink;

__attribute__((noinline)) static void work(void) {
    struct timespec now;
    do {
        for (unsigned long i = 0; i < 10000; i++) sink += i * i;
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    } while (now.tv_nsec < 60000000 && now.tv_sec == 0);
}

static void *look(void *out) {
    work();
    *(int *)out = prof_is_blocked();
    return out;
}

static int look_and_return_7(void *out) {
    work();
    *(int *)out = prof_is_blocked();
    return 7;
}

int main(int argc, char **argv) {
    ask_kernel = argc > 1 && strcmp(argv[1], "kernel") == 0;
    sigset_t all, none;
    sigfillset(&all);
    sigemptyset(&none);
    int inside = -1;
    pthread_t thread;
    void *result;

    pthread_sigmask(SIG_SETMASK, &all, NULL);
    pthread_create(&thread, NULL, look, &inside);
    pthread_join(thread, &result);
    printf("all blocked: here %d, thread %d, result %d\n", prof_is_blocked(), inside,
           result == &inside);

    thrd_t c11;
    int c11_result;
    inside = -1;
    thrd_create(&c11, look_and_return_7, &inside);
    thrd_join(c11, &c11_result);
    printf("thrd_create: thread %d, result %d\n", inside, c11_result);

    pthread_sigmask(SIG_SETMASK, &none, NULL);
    inside = -1;
    pthread_create(&thread, NULL, look, &inside);
    pthread_join(thread, NULL);
    printf("none blocked: here %d, thread %d\n", prof_is_blocked(), inside);

    pthread_attr_t impossible;
    pthread_attr_init(&impossible);
    pthread_attr_setstacksize(&impossible, (size_t)1 << 62);
    int error = pthread_create(&thread, &impossible, look, &inside);
    printf("impossible: %s\n", strerror(error));
    return 0;
}
