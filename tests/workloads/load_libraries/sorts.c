/* Sorts by the C library's qsort when loaded and when asked, and works when that asks back. ANSWER
 * tells the copies apart. */
#include <stdlib.h>

static volatile unsigned long sink;

__attribute__((noinline)) static int compare(const void *one, const void *two) {
    for (unsigned long i = 0; i < 20000; i++) sink += i * i;
    return *(const int *)one - *(const int *)two;
}

__attribute__((noinline)) static int sorted(void) {
    int numbers[64], right = 1;
    for (int i = 0; i < 64; i++) numbers[i] = i * 37 % 64;
    qsort(numbers, 64, sizeof *numbers, compare);
    for (int i = 0; i < 64; i++) right &= numbers[i] == i;
    return right;
}

__attribute__((constructor)) static void loaded(void) { sorted(); }

int work(void) { return sorted() * ANSWER; }
