/* A library that is opened with RTLD_DEEPBIND sets signals' actions, and starts a thread:
 *
 *     cc -shared -fPIC -DLIBRARY -o deep.so deep_bound.c
 *     program
 *
 * The library calls the C library's own functions, whatever stands in front of it.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#ifdef LIBRARY

static volatile unsigned long counted;

static void *work(void *unused) {
    struct timespec now = {0, 0};
    while (now.tv_sec == 0 && now.tv_nsec < 300000000) {
        for (long i = 0; i < 100000; i++)
            counted = counted * 3 + 1;
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    }
    return unused;
}

int use(void) {
    struct sigaction before;
    /* The default action ends the program at the next signal. */
    if (signal(SIGPROF, SIG_DFL) == SIG_ERR || sigaction(SIGPROF, NULL, &before)) return 1;
    if (before.sa_handler != SIG_DFL) return 2;
    work(NULL);
    pthread_t thread;
    if (pthread_create(&thread, NULL, work, NULL)) return 3;
    pthread_join(thread, NULL);
    execl("/bin/echo", "echo", "executed", NULL);
    return 4;
}

#else

int main(void) {
    void *library = dlopen("./deep.so", RTLD_NOW | RTLD_DEEPBIND);
    int (*use)(void) = library ? (int (*)(void))dlsym(library, "use") : NULL;
    int failed = use ? use() : 9;
    printf("failed: %d\n", failed);
    return failed;
}

#endif
