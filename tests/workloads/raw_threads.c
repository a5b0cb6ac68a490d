/* raw_threads: threads that clone(2) makes, and that the C library does not know: two that share
 * their creator's thread-local storage, and one with storage of its own, each of which computes for
 * 100 ms. The creator waits. */
#define _GNU_SOURCE
#include <asm/prctl.h>
#include <linux/futex.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "kernel_call.h"

enum { THREADS = 3, STACK = 65536 };
static char stacks[THREADS][STACK] __attribute__((aligned(16)));
static char storage[4096] __attribute__((aligned(64)));
static volatile unsigned long results[THREADS];
static pid_t alive[THREADS];

static int raw(void *place) {
    uintptr_t number = (uintptr_t)place;
    uint64_t now[2], end = 0;
    do {
        for (unsigned long i = 0; i < 10000; i++) results[number] += i * i;
        kernel_call(SYS_clock_gettime, 3 /* CLOCK_THREAD_CPUTIME_ID */, now, NULL, 0);
        end = now[0] * 1000000000 + now[1];
    } while (end < 100000000);
    kernel_call(SYS_exit, 0, NULL, NULL, 0);
    return 0;
}

int main(void) {
    int flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM |
                CLONE_CHILD_CLEARTID;
    /* The first word of the storage is its own address (psABI, "Variant II"). */
    *(void **)storage = storage;
    for (uintptr_t i = 0; i < THREADS; i++) {
        alive[i] = 1;
        int own = i == 2 ? CLONE_SETTLS : 0;
        if (clone(raw, stacks[i] + STACK, flags | own, (void *)i, NULL, storage, &alive[i]) < 0)
            return 1;
    }
    for (int i = 0; i < THREADS; i++)
        while (__atomic_load_n(&alive[i], __ATOMIC_ACQUIRE) != 0)
            syscall(SYS_futex, &alive[i], FUTEX_WAIT, 1, NULL, NULL, 0);
    printf("%d threads worked\n", (results[0] > 0) + (results[1] > 0) + (results[2] > 0));
    return 0;
}
