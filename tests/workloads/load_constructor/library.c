/* A library that works before dlopen returns. WORK is the name of what its constructor calls. */
#include <time.h>

static volatile unsigned long sink;

__attribute__((noinline)) void WORK(void) {
    clock_t end = clock() + 3 * CLOCKS_PER_SEC / 10;
    while (clock() < end)
        for (unsigned long i = 0; i < 100000; i++) sink += i * i;
}

__attribute__((constructor)) static void begin(void) {
    WORK();
    sink++;
}
