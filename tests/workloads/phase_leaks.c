/* Asks for memory in phases, a thousand times "build" and then "use", and gives it back at other
 * moments: of what is asked for in "build", within brings back all, over in "use", again in the
 * next "build", resized in "use" after it has become smaller there; never does so. used is asked
 * for, and brought back, in "use". */
#include <stdio.h>
#include <stdlib.h>

#include "csprof.h"

enum { ROUNDS = 1000 };

#define USED(block) __asm__ volatile("" : "+r"(block) : : "memory")
#define APART __attribute__((noinline, noclone, noipa))

APART static void within(void) {
    void *block = malloc(500);
    USED(block);
    free(block);
}

APART static void *over(void) {
    void *block = malloc(1000);
    USED(block);
    return block;
}

APART static void *again(void) {
    void *block = malloc(600);
    USED(block);
    return block;
}

APART static void *resized(void) {
    void *block = malloc(8000);
    USED(block);
    return block;
}

APART static void never(void) {
    void *block = malloc(300);
    USED(block);
}

APART static void used(void) {
    void *block = malloc(200);
    USED(block);
    free(block);
}

int main(void) {
    void *last = NULL;
    for (int round = 0; round < ROUNDS; round++) {
        csprof_phase("build");
        free(last);
        within();
        void *first = over();
        last = again();
        void *second = resized();
        never();
        csprof_phase("use");
        free(first);
        second = realloc(second, 7000);
        USED(second);
        free(second);
        used();
    }
    free(last);
    csprof_phase("");
    puts("done");
    return 0;
}
