/* A library in front of the C library has a poll of its own, which saves and restores the mask, and jumps within
 * itself, before it waits. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>

#ifdef LIBRARY
int poll(struct pollfd *files, nfds_t count, int limit) {
    int (*next)(struct pollfd *, nfds_t, int) = (int (*)(struct pollfd *, nfds_t, int))dlsym(RTLD_NEXT, "poll");
    sigset_t all, before;
    jmp_buf within;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (_setjmp(within) == 0) _longjmp(within, 1);
    return next(files, count, limit);
}
#else
static volatile sig_atomic_t came;
static void count(int signal) { came += signal == SIGPROF; }

int main(void) {
    int interrupted = 0;
    sigset_t now;
    signal(SIGPROF, count);
    for (int i = 0; i < 150; i++) interrupted += poll(NULL, 0, 4) < 0;
    pthread_sigmask(SIG_BLOCK, NULL, &now);
    raise(SIGPROF);
    printf("interrupted %d, blocked %d, came %d\n", interrupted, sigismember(&now, SIGPROF), (int)came);
    return 0;
}
#endif
