/* Built with -fsplit-stack: a function that finds too little room gets a new piece of stack, and gives
 * it back when it returns, through code of libgcc that puts a return address of its own on it. */
#include <pthread.h>
#include <stdio.h>

static volatile unsigned long sink;
__attribute__((noinline)) static void burn(unsigned long n) {
    unsigned long sum = 0;
    for (unsigned long i = 0; i < n; i++) sum += i ^ (sum >> 3);
    sink = sum;
}

__attribute__((noinline)) static int down(int frames) {
    volatile char room[3000];
    room[0] = 1;
    burn(3000);
    int below = frames > 0 ? down(frames - 1) : 0;
    burn(3000);
    return below + room[0];
}

static void *in_thread(void *sum) {
    for (int round = 0; round < 200; round++) *(int *)sum += down(60);
    return sum;
}

int main(void) {
    pthread_t thread;
    int here = 0, there = 0;
    pthread_create(&thread, NULL, in_thread, &there);
    for (int round = 0; round < 200; round++) here += down(60);
    pthread_join(thread, NULL);
    printf("%d %d\n", here, there);
    return 0;
}
