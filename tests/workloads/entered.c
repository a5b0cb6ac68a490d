// Enters functions, each of which counts one row per entry: `entered HOW`.
//
//   recursive   descend() down to depth 5, two times: 12 entries
//   many        100 000 entries of step()
//   threads     two threads, one after the other, with 3 entries of step() each
//   fork        2 entries of step(), then one in a child, then one in the parent
//   trap        step(), then the program takes SIGTRAP for itself and raises it, then step() again
//   taken       takes SIGTRAP for itself, computes, and enters descend() twice, step() once
//   library     three times: loads ./libentered.so, enters its plugin_step() twice, unloads it
#define _GNU_SOURCE
#include "csprof.h"
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile unsigned long sink;

#ifdef LIBRARY

void plugin_step(void) {
    csprof_count("rows", 1);
    sink++;
}

#else

__attribute__((noinline)) void step(void) {
    csprof_count("rows", 1);
    sink++;
}

__attribute__((noinline)) void descend(int depth) {
    csprof_count("rows", 1);
    if (depth > 0) descend(depth - 1);
    sink++;
}

static void *three_steps(void *unused) {
    for (int i = 0; i < 3; i++) step();
    return unused;
}

static volatile sig_atomic_t traps;

static void on_trap(int signal) {
    (void)signal;
    traps++;
}

int main(int argc, char **argv) {
    const char *how = argc > 1 ? argv[1] : "";
    if (!strcmp(how, "recursive")) {
        descend(5);
        descend(5);
    } else if (!strcmp(how, "many")) {
        for (int i = 0; i < 100000; i++) step();
    } else if (!strcmp(how, "threads")) {
        for (int i = 0; i < 2; i++) {
            pthread_t thread;
            pthread_create(&thread, 0, three_steps, 0);
            pthread_join(thread, 0);
        }
    } else if (!strcmp(how, "fork")) {
        step();
        step();
        if (fork() == 0) {
            csprof_count("rows", 10);
            step();
            return 0;
        }
        wait(0);
        step();
    } else if (!strcmp(how, "trap")) {
        step();
        signal(SIGTRAP, on_trap);
        raise(SIGTRAP);
        step();
        step();
        if (traps != 1) abort();
    } else if (!strcmp(how, "taken")) {
        signal(SIGTRAP, on_trap);
        for (int i = 0; i < 50000000; i++) sink++;
        descend(1);
        step();
    } else if (!strcmp(how, "library")) {
        for (int i = 0; i < 3; i++) {
            void *library = dlopen("./libentered.so", RTLD_NOW);
            if (!library) return fprintf(stderr, "%s\n", dlerror()), 1;
            void (*plugin_step)(void) = (void (*)(void))dlsym(library, "plugin_step");
            plugin_step();
            plugin_step();
            dlclose(library);
        }
    }
    printf("%lu\n", sink);
    return 0;
}

#endif
