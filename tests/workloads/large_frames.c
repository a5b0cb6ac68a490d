/* Frames of 300 kB and of 5 MB, on the main thread's stack and on one of 128 MB. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

static __thread volatile unsigned long sink;
__attribute__((noinline)) static void burn(unsigned long n) {
    unsigned long sum = 0;
    for (unsigned long i = 0; i < n; i++) sum += i ^ (sum >> 3);
    sink = sum;
}

#define DOWN(name, size)                                                           \
    __attribute__((noinline)) static int name(int frames) {                        \
        volatile char room[size];                                                  \
        room[0] = room[size - 1] = 1;                                              \
        burn(20000);                                                               \
        int below = frames > 1 ? name(frames - 1) : 0;                             \
        burn(20000);                                                               \
        return below + room[0] * room[size - 1];                                   \
    }
DOWN(down_300k, 300000)
DOWN(down_5m, 5000000)

static void *in_thread(void *sum) {
    for (int round = 0; round < 100; round++) *(int *)sum += down_300k(100) + down_5m(15);
    return sum;
}

int main(void) {
    int here = 0, there = 0;
    pthread_attr_t attributes;
    pthread_t thread;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 128 << 20);
    if (pthread_create(&thread, &attributes, in_thread, &there) != 0) return 1;
    for (int round = 0; round < 100; round++) here += down_300k(20) + down_5m(1);
    pthread_join(thread, NULL);
    printf("%d %d\n", here, there);
    return 0;
}
