/* Functions that are found in the C library itself, by dlsym(3) with its handle, as foreign function interfaces find
 * them: actions, masks and alternate stacks, programs that are executed, waits. The argument says which. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;
static void *library;
#define OF(name) ((__typeof__(&name))dlsym(library, #name))

__attribute__((noinline)) static void work(long ms) {
    struct timespec begin, now;
    volatile unsigned sum = 0;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
    do {
        for (unsigned i = 0; i < 10000; i++) sum += i;
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    } while ((now.tv_sec - begin.tv_sec) * 1000 + (now.tv_nsec - begin.tv_nsec) / 1000000 < ms);
}

static volatile sig_atomic_t came;
static void on(int signal) {
    (void)signal;
    came++;
}

static void act(void) {
    struct sigaction action = {.sa_handler = on}, before;
    OF(sigaction)(SIGPROF, NULL, &before);
    OF(sigaction)(SIGPROF, &action, NULL);
    work(100);
    OF(raise)(SIGPROF);
    printf("was default %d, came %d\n", before.sa_handler == SIG_DFL, came);
    for (int i = 1; i < 32; i++) OF(signal)(i, SIG_DFL);
    work(100);
    int none = dlsym(library, "no_such_function") == NULL;
    printf("none %d %d\n", none, dlerror() != NULL);
}

static void mask(void) {
    sigset_t all, before, now;
    sigfillset(&all);
    OF(pthread_sigmask)(SIG_SETMASK, &all, &before);
    work(60);
    OF(sigprocmask)(SIG_SETMASK, &before, &now);
    printf("blocked %d, then %d\n", sigismember(&before, SIGPROF), sigismember(&now, SIGPROF));
}

static void stack(void) {
    stack_t wanted = {.ss_sp = malloc(65536), .ss_size = 65536}, before, now;
    OF(sigaltstack)(&wanted, &before);
    OF(sigaltstack)(NULL, &now);
    printf("none before %d, now mine %d\n", before.ss_flags == SS_DISABLE, now.ss_sp == wanted.ss_sp);
    work(60);
}

static void program(char *self) {
    char *words[] = {self, "executed", NULL};
    int status;
    pid_t child;
    fflush(stdout);
    OF(posix_spawn)(&child, self, NULL, NULL, words, environ);
    waitpid(child, &status, 0);
    child = OF(fork)();
    if (!child) {
        work(60);
        OF(execl)(self, self, "executed", NULL);
        _exit(1);
    }
    waitpid(child, &status, 0);
    work(60);
    OF(execv)(self, words);
}

static void wait_for_time(void) {
    struct timespec time = {0, 3000000};
    int ended = 0;
    for (int i = 0; i < 50; i++) {
        work(1);
        ended += OF(nanosleep)(&time, NULL) != 0;
        ended += OF(poll)(NULL, 0, 3) != 0;
    }
    printf("ended early: %d\n", ended);
}

int main(int argc, char **argv) {
    const char *what = argc > 1 ? argv[1] : "";
    library = dlopen("libc.so.6", RTLD_NOW);
    if (!strcmp(what, "action")) act();
    if (!strcmp(what, "mask")) mask();
    if (!strcmp(what, "stack")) stack();
    if (!strcmp(what, "program")) program(argv[0]);
    if (!strcmp(what, "wait")) wait_for_time();
    if (!strcmp(what, "executed")) {
        struct sigaction action;
        sigaction(SIGPROF, NULL, &action);
        work(60);
        printf("executed, default %d\n", action.sa_handler == SIG_DFL);
    }
    return 0;
}
