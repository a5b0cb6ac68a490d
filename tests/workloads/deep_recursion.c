/* 100 000 calls deep and back, twice: on a thread's stack of just the size that this takes, and on
 * the main thread's, which must be unlimited for it. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/resource.h>

enum { DEPTH = 100000, ROUNDS = 2 };

static __thread volatile unsigned long sink;
__attribute__((noinline)) static void burn(unsigned long n) {
    unsigned long sum = 0;
    for (unsigned long i = 0; i < n; i++) sum += i ^ (sum >> 3);
    sink = sum;
}

static __thread uintptr_t lowest;

__attribute__((noinline)) static int down(int frames) {
    burn(10);
    if (frames == 0) {
        lowest = (uintptr_t)__builtin_frame_address(0);
        burn(2000000);
        return 0;
    }
    int below = down(frames - 1);
    burn(10);
    return below + 1;
}

static long all(void) {
    long sum = 0;
    for (int round = 0; round < ROUNDS; round++) sum += down(DEPTH);
    return sum;
}

static void *in_thread(void *out) {
    *(long *)out = all();
    return out;
}

int main(void) {
    struct rlimit limit;
    getrlimit(RLIMIT_STACK, &limit);
    uintptr_t here = (uintptr_t)__builtin_frame_address(0);
    long first = all(), second = 0;
    /* What the main thread used, and room for a handler's frame on this processor. */
    size_t size = (here - lowest + 65536 + 4095) & ~(size_t)4095;
    pthread_attr_t attributes;
    pthread_t thread;
    pthread_attr_init(&attributes);
    if (pthread_attr_setstacksize(&attributes, size) != 0) return 1;
    if (pthread_create(&thread, &attributes, in_thread, &second) != 0) return 1;
    pthread_join(thread, NULL);
    printf("unlimited %d, %ld %ld\n", limit.rlim_cur == RLIM_INFINITY, first, second);
    return 0;
}
