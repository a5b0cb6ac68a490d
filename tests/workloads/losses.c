// Ways to be sampled late, seldom or never: `losses MODE`.
//
//   late      half a second of work with the profiling signal blocked by a system call of its own
//   blocked   the same, and the signal stays blocked to the end
//   taken     takes SIGPROF by a system call of its own, then works for a tenth of a second
//   sleeps    waits for a fifth of a second
//   short     does nothing
//   children  300 children that work for a millisecond each
//   nodes     many call paths: a random walk through a tree of functions
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "kernel_call.h"

static volatile unsigned long sink;

static double cpu_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return now.tv_sec * 1e3 + now.tv_nsec / 1e6;
}

__attribute__((noinline)) static void work(double ms) {
    double end = cpu_ms() + ms;
    while (cpu_ms() < end)
        for (int i = 0; i < 1000; i++) sink += i;
}

__attribute__((noinline)) static void work_with_signal_blocked(double ms) {
    work(ms);
    sink++;
}

static void block(int how) {
    unsigned long mask = 1UL << (SIGPROF - 1);
    kernel_call(SYS_rt_sigprocmask, how, &mask, NULL, 8);
}

// The kernel's structure.
static void take(void) {
    struct { void *handler; unsigned long flags; void *restorer; unsigned long mask; } ignore = {
        SIG_IGN, 0, NULL, 0};
    kernel_call(SYS_rt_sigaction, SIGPROF, &ignore, NULL, 8);
}

static unsigned long state = 88172645463325252;

// Four functions that call one another as a random number says, 40 deep.
static void a(int);
static void b(int);
static void c(int);
static void d(int);
static void step(int depth) {
    if (depth == 0) {
        for (int i = 0; i < 2000; i++) sink += i;
        return;
    }
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    switch (state & 3) {
    case 0: a(depth - 1); break;
    case 1: b(depth - 1); break;
    case 2: c(depth - 1); break;
    default: d(depth - 1);
    }
    sink++;
}
__attribute__((noinline)) static void a(int depth) { step(depth), sink += 1; }
__attribute__((noinline)) static void b(int depth) { step(depth), sink += 2; }
__attribute__((noinline)) static void c(int depth) { step(depth), sink += 3; }
__attribute__((noinline)) static void d(int depth) { step(depth), sink += 4; }

int main(int argc, char **argv) {
    const char *mode = argc > 1 ? argv[1] : "";
    if (!strcmp(mode, "late") || !strcmp(mode, "blocked")) {
        block(SIG_BLOCK);
        work_with_signal_blocked(500);
        if (mode[0] == 'l') block(SIG_UNBLOCK);
    } else if (!strcmp(mode, "taken")) {
        take();
        work(100);
    } else if (!strcmp(mode, "sleeps")) {
        struct timespec end;
        clock_gettime(CLOCK_MONOTONIC, &end);
        end.tv_nsec += 200000000;
        if (end.tv_nsec >= 1000000000) end.tv_sec++, end.tv_nsec -= 1000000000;
        while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &end, NULL) == EINTR) continue;
    } else if (!strcmp(mode, "children")) {
        for (int child = 0; child < 300; child++) {
            pid_t pid = fork();
            if (pid == 0) {
                work(1);
                exit(0);
            }
            waitpid(pid, NULL, 0);
        }
    } else if (!strcmp(mode, "nodes")) {
        double end = cpu_ms() + atof(argv[2]);
        while (cpu_ms() < end) step(40);
    }
    return 0;
}
