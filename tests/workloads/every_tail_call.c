/* Calls that are jumps: direct, through a pointer, mutual, and into the stub of another library's
 * function. Frames above them stay. */
#include <stdio.h>
#include <stdlib.h>

static volatile unsigned long sink;
__attribute__((noinline)) static long burn(long n) {
    unsigned long sum = 0;
    for (long i = 0; i < n; i++) sum += (unsigned long)i ^ (sum >> 3);
    sink = sum;
    return n;
}

typedef long function(long);
__attribute__((noinline)) static long direct(long n) { return burn(n); }
__attribute__((noinline)) static long indirect(long n) {
    static function *volatile target = direct;
    return target(n + 1);
}
static long odd(long n);
__attribute__((noinline)) static long even(long n) {
    burn(500);
    return n == 0 ? 1 : odd(n - 1);
}
__attribute__((noinline)) static long odd(long n) {
    burn(500);
    return n == 0 ? 0 : even(n - 1);
}
__attribute__((noinline)) static long into_stub(long n) {
    burn(2000);
    return labs(-n);
}

__attribute__((noinline)) static long down(long frames) {
    long below = frames > 0 ? down(frames - 1) : 0;
    below += indirect(5000) + even(20) + into_stub(3);
    __asm__ volatile("");
    return below;
}

int main(void) {
    long sum = 0;
    for (int round = 0; round < 500; round++) sum += down(19);
    printf("%ld\n", sum);
    return 0;
}
