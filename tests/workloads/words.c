// Counts known amounts of two resources in phases with names: `words HOW`.
//
//   plain    TURNS turns
//   threads  the turns in two threads at once, of which none begins a phase, while the main thread
//            waits for them in the phase "threads"
//   fork     the turns, then in the phase "solve" a child that counts without a phase of its own,
//            and then makes the turns
//   vfork    the turns, and a child that has the parent's memory, and names a phase, and counts
//   many     5000 phases, of which each counts 1, then the first of them counts 1 again
//   handler  the turns, while a timer's handler begins phases and counts nothing, and a child is
//            forked each turn
//
// A turn assembles and solves, in phases of these names. Each call must leave errno alone.
#define _GNU_SOURCE
#include "csprof.h"
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

enum { TURNS = 20, ASSEMBLED = 3, SOLVED = 5, ERRNO = 77 };

static volatile unsigned long sink;

__attribute__((noinline)) static void count(const char *what, unsigned long amount) {
    errno = ERRNO;
    csprof_count(what, amount);
    if (errno != ERRNO) abort();
    sink++;
}

__attribute__((noinline)) static void phase(const char *name) {
    errno = ERRNO;
    csprof_phase(name);
    if (errno != ERRNO) abort();
    sink++;
}

__attribute__((noinline)) static void assemble(void) {
    for (int i = 0; i < ASSEMBLED; i++) count("rows", 2);
    count("files", 1);
    sink++;
}

__attribute__((noinline)) static void solve(void) {
    for (int i = 0; i < SOLVED; i++) count("rows", 1);
    sink++;
}

__attribute__((noinline)) static void turns(void) {
    for (int i = 0; i < TURNS; i++) {
        phase("assemble");
        assemble();
        phase("solve");
        phase("solve");
        solve();
    }
    phase("");
    count("rows", 1);
    sink++;
}

static void *thread(void *nothing) {
    for (int i = 0; i < TURNS; i++) assemble();
    return nothing;
}

static void wait_for(pid_t child) {
    int status = 0;
    if (waitpid(child, &status, 0) != child || status) abort();
}

static void on_alarm(int signal) {
    int kept = errno;
    csprof_phase(signal ? "alarm" : NULL);
    csprof_phase("alarm too");
    errno = kept;
}

static void in_handlers(void) {
    struct sigaction action = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};
    struct itimerval often = {{0, 200}, {0, 200}}, never = {{0, 0}, {0, 0}};
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &often, NULL);
    for (int i = 0; i < TURNS; i++) {
        for (int j = 0; j < 100; j++) phase(j % 2 ? "assemble" : "solve");
        assemble();
        pid_t child = fork();
        if (child == 0) {
            phase("child");
            _exit(0);
        }
        wait_for(child);
    }
    setitimer(ITIMER_REAL, &never, NULL);
}

int main(int argc, char **argv) {
    const char *how = argc > 1 ? argv[1] : "plain";
    if (!strcmp(how, "threads")) {
        pthread_t two[2];
        phase("threads");
        for (int i = 0; i < 2; i++)
            if (pthread_create(&two[i], NULL, thread, NULL)) return 1;
        for (int i = 0; i < 2; i++) pthread_join(two[i], NULL);
    } else if (!strcmp(how, "fork")) {
        turns();
        phase("solve");
        pid_t child = fork();
        if (child == 0) {
            count("rows", 100);
            turns();
            _exit(0);
        }
        wait_for(child);
        count("rows", 1000);
    } else if (!strcmp(how, "vfork")) {
        turns();
        phase("mine");
        pid_t child = vfork();
        if (child == 0) {
            csprof_phase("another's");
            csprof_count("rows", 500);
            _exit(0);
        }
        wait_for(child);
        count("rows", 1);
    } else if (!strcmp(how, "many")) {
        char name[32];
        for (int i = 0; i < 5000; i++) {
            snprintf(name, sizeof name, "step%d", i);
            phase(name);
            count("rows", 1);
        }
        phase("step0");
        count("rows", 1);
    } else if (!strcmp(how, "handler")) {
        in_handlers();
    } else {
        turns();
    }
    csprof_count(NULL, 1);
    csprof_count("rows", ~0UL);
    puts("done");
    return 3;
}
