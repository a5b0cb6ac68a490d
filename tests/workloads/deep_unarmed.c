/* 300 000 calls deep, and at work there, in a program in which nothing may be armed: it has a table of
 * OCaml's name. Each sample has the whole stack before it, which takes longer than a period. */
#include <stdio.h>

enum { DEPTH = 300000 };

/* What the garbage collector of a program in OCaml goes by. */
long caml_frametable[1];

static volatile unsigned long sink;
__attribute__((noinline)) static void burn(unsigned long n) {
    unsigned long sum = 0;
    for (unsigned long i = 0; i < n; i++) sum += i ^ (sum >> 3);
    sink = sum;
}

__attribute__((noinline)) static int down(int frames) {
    if (frames == 0) {
        burn(60000000);
        return 0;
    }
    int below = down(frames - 1);
    burn(10);
    return below + 1;
}

int main(void) {
    long sum = 0;
    for (int round = 0; round < 3; round++) sum += down(DEPTH);
    printf("%ld\n", sum);
    return 0;
}
