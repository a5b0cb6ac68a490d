/* Functions of the C library that have several names: `memcpy` and `memmove` share code, and
 * `strtol` is `strtoll`. The argument says which of both names this run calls, `first` or `second`;
 * the file imports both. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SIZE 4096
#define ROUNDS 30000000

static char from[SIZE], to[SIZE];
static const char number[] = "1234567890123456";

__attribute__((noinline)) long long copies(int second) {
    long long sum = 0;
    for (long round = 0; round < ROUNDS; round++) {
        sum += *(second ? (char *)memmove(to, from, SIZE) : (char *)memcpy(to, from, SIZE));
        __asm__ volatile("" ::: "memory");
    }
    return sum;
}

__attribute__((noinline)) long long reads(int second) {
    long long sum = 0;
    for (long round = 0; round < ROUNDS; round++)
        sum += second ? strtoll(number, NULL, 10) : strtol(number, NULL, 10);
    return sum;
}

int main(int argc, char **argv) {
    int second = argc > 1 && strcmp(argv[1], "second") == 0;
    printf("%lld\n", copies(second) + reads(second));
    return 0;
}
