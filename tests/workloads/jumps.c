/* Leaves six frames at once by longjmp, again and again; every fourth time it returns from them
 * instead. All rounds work for the same time, which is several periods. */
#include <setjmp.h>
#include <stdio.h>

static volatile unsigned long sink;
static jmp_buf back;
static int jumps, returns;

__attribute__((noinline)) static void work(void) {
    unsigned long sum = 0;
    for (unsigned long i = 0; i < 20000000; i++) sum += i ^ (sum >> 3);
    sink = sum;
}

__attribute__((noinline)) static void down(int frames, int jump) {
    if (frames > 1) {
        down(frames - 1, jump);
    } else {
        work();
        if (jump) longjmp(back, 1);
    }
    __asm__ volatile(""); /* or else the recursion would be a loop */
}

__attribute__((noinline)) static void once(int round) {
    if (setjmp(back) == 0) {
        down(6, round % 4 != 0);
        returns++;
    } else {
        jumps++;
    }
}

int main(void) {
    for (int round = 0; round < 80; round++) once(round);
    printf("%d jumps, %d returns\n", jumps, returns);
    return 0;
}
