/* Compiled with -finstrument-functions: each function tells two hooks where it was called from, when it begins and
 * when it ends, and must say the same both times. */
#include <stdio.h>

#define HOOK __attribute__((no_instrument_function))
static long ends, wrong;
static void *callers[64];
static int depth;
HOOK void __cyg_profile_func_enter(void *function, void *caller) {
    (void)function;
    callers[depth++] = caller;
}
HOOK void __cyg_profile_func_exit(void *function, void *caller) {
    (void)function;
    ends++;
    wrong += callers[--depth] != caller;
}

static volatile unsigned long sink;
__attribute__((noinline)) static long down(int frames) {
    unsigned long sum = 0;
    for (unsigned long i = 0; i < 2000; i++) sum += i ^ (sum >> 3);
    sink = sum;
    return frames ? down(frames - 1) + 1 : 1;
}

int main(void) {
    long sum = 0;
    for (int i = 0; i < 20000; i++) sum += down(10);
    printf("%ld, %ld ends, %ld wrong\n", sum, ends, wrong);
    return 0;
}
