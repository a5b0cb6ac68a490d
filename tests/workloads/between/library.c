/* A preloaded library that stands before functions of the C library, and calls the next ones. It counts
 * how often it was called, and how often its own call was answered. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CREATE, ACTION, MASK, OPEN, CLOSE, DUP, KINDS };
static int counts[KINDS];

/* dlsym is one of them, so the real one is found by its version. */
static void *next(const char *name) {
    static void *(*find)(void *, const char *);
    if (!find) find = (void *(*)(void *, const char *))dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.2.5");
    return find(RTLD_NEXT, name);
}

#define NEXT(name, ...) ((__typeof__(&name))next(#name))(__VA_ARGS__)
#define COUNT(kind) __atomic_fetch_add(&counts[kind], 1, __ATOMIC_RELAXED)

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*start)(void *),
                   void *argument) {
    int result = NEXT(pthread_create, thread, attributes, start, argument);
    COUNT(CREATE);
    return result;
}

int sigaction(int signal, const struct sigaction *new, struct sigaction *old) {
    int result = NEXT(sigaction, signal, new, old);
    if (signal == SIGUSR1) COUNT(ACTION);
    return result;
}

int pthread_sigmask(int how, const sigset_t *new, sigset_t *old) {
    int result = NEXT(pthread_sigmask, how, new, old);
    COUNT(MASK);
    return result;
}

void *dlopen(const char *name, int mode) {
    void *result = NEXT(dlopen, name, mode);
    if (name && strstr(name, "work.so")) COUNT(OPEN);
    return result;
}

int dlclose(void *library) {
    int result = NEXT(dlclose, library);
    COUNT(CLOSE);
    return result;
}

int dup2(int old, int new) {
    int result = NEXT(dup2, old, new);
    COUNT(DUP);
    return result;
}

void report_between(void) {
    printf("between: create %d, action %d, mask %d, open %d, close %d, dup %d\n", counts[CREATE],
           counts[ACTION], counts[MASK], counts[OPEN], counts[CLOSE], counts[DUP]);
}
