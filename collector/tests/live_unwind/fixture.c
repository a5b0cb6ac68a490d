/* Code that a Rust test program does not contain: calls that the loader binds lazily, a stack
   aligned to 64 bytes in a function with stack arguments, variable-sized frames, and jumps. */
#include <alloca.h>
#include <math.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

__attribute__((noinline)) double aligned(int a, int b, int c, int d, int e, int f, int g, int h) {
    _Alignas(64) volatile double vector[16];
    for (int i = 0; i < 16; i++)
        vector[i] = a + b + c + d + e + f + g + h + i;
    double sum = cbrt(vector[3]);
    for (int i = 0; i < 16; i++)
        sum += vector[i];
    return sum;
}

__attribute__((noinline)) size_t variable(int n) {
    char *text = alloca((size_t)n);
    memset(text, 'x', (size_t)n - 1);
    text[n - 1] = 0;
    return strlen(text) + (size_t)atoi("12");
}

static int compare(const void *a, const void *b) { return strcmp(a, b); }

double fixture(void) {
    char words[5][8] = {"pear", "apple", "fig", "quince", "lime"};
    char line[64];
    qsort(words, 5, 8, compare);
    snprintf(line, sizeof line, "%s %g %d", words[0], 1.0 / 3, 42);
    double sum = aligned(1, 2, 3, 4, 5, 6, 7, 8) + (double)variable(100);
    return sum + strtod("0.25", 0) + hypot(3, 4) + (double)strlen(line);
}

// On the stack, which is all that the test reads.
struct places {
    jmp_buf plain;
    sigjmp_buf with_mask;
    ucontext_t context, other;
};

__attribute__((noinline)) static void leave(int depth, int way, struct places *places) {
    if (depth > 0)
        leave(depth - 1, way, places);
    else if (way == 0)
        longjmp(places->plain, 1);
    else if (way == 1)
        siglongjmp(places->with_mask, 1);
    else if (way == 2)
        setcontext(&places->context);
    else
        swapcontext(&places->other, &places->context);
    __asm__ volatile("");
}

// Comes back four times from where it cannot return to.
double jumps(void) {
    struct places places;
    volatile int landed = 0;
    if (setjmp(places.plain) == 0)
        leave(3, 0, &places);
    landed++;
    if (sigsetjmp(places.with_mask, 1) == 0)
        leave(2, 1, &places);
    landed++;
    getcontext(&places.context);
    if (landed < 4)
        leave(1, landed++, &places);
    return landed;
}
