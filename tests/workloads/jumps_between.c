/* Jumps out of two functions in turn. Their frames lie at the same place, so that each finds there
 * what the other has left: a return address that never was returned to. */
#include <setjmp.h>

static volatile unsigned long sink;
static jmp_buf back;

#define WORK(name, shift)                                                          \
    __attribute__((noinline)) static void name(long n) {                           \
        unsigned long sum = 0;                                                     \
        for (long i = 0; i < n; i++) sum += i ^ (sum >> shift);                    \
        sink = sum;                                                                \
        if (sink) longjmp(back, 1);                                                \
    }
WORK(work_of_even, 3)
WORK(work_of_odd, 5)

static volatile long n = 12000000;

__attribute__((noinline)) static void even(void) {
    work_of_even(n);
    sink++;
}

__attribute__((noinline)) static void odd(void) {
    work_of_odd(n);
    sink++;
}

int main(void) {
    for (volatile int round = 0; round < 100; round++)
        if (setjmp(back) == 0) round % 2 ? odd() : even();
    return 0;
}
