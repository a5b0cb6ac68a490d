/* Shows its own stack by libunwind, again and again, in two ways. All traces of one place are the same. */
#define UNW_LOCAL_ONLY
#include <libunwind.h>
#include <stdio.h>
#include <string.h>

enum { MOST = 64 };
static long traces, wrong;

static volatile unsigned long sink;
__attribute__((noinline)) static void burn(unsigned long n) {
    unsigned long sum = 0;
    for (unsigned long i = 0; i < n; i++) sum += i ^ (sum >> 3);
    sink = sum;
}

static void compare(void **first, int *known, void **frames, int count) {
    traces++;
    /* The innermost is this call's own. */
    if (*known == 0) memcpy(first, frames, sizeof *frames * (*known = count));
    wrong += count != *known || memcmp(first + 1, frames + 1, sizeof *frames * (count - 1)) != 0;
}

__attribute__((noinline)) static void show(void) {
    static void *at_once[MOST], *stepwise[MOST];
    static int known, steps;
    void *frames[MOST];
    burn(300);
    compare(at_once, &known, frames, unw_backtrace(frames, MOST));
    unw_context_t context;
    unw_cursor_t cursor;
    unw_getcontext(&context);
    burn(300);
    unw_init_local(&cursor, &context);
    int count = 0;
    do {
        unw_word_t ip = 0;
        unw_get_reg(&cursor, UNW_REG_IP, &ip);
        frames[count++] = (void *)ip;
        burn(100);
    } while (count < MOST && unw_step(&cursor) > 0);
    compare(stepwise, &steps, frames, count);
}

__attribute__((noinline)) static int down(int frames) {
    if (frames == 0) {
        show();
        return 1;
    }
    int below = down(frames - 1);
    burn(200);
    return below + 1;
}

int main(void) {
    long sum = 0;
    for (int i = 0; i < 15000; i++) sum += down(12);
    printf("%ld, %ld traces, %ld wrong\n", sum, traces, wrong);
    return 0;
}
