/* Frames whose size is known only when they run, and frames that are aligned to 64 bytes for vectors;
 * sums in vector registers live across calls that burn CPU. Built with -mavx2 or -mavx512f where the
 * processor has it. */
#include <alloca.h>
#include <stdio.h>
#include <string.h>

static volatile unsigned long sink;
__attribute__((noinline)) static void burn(unsigned long n) {
    unsigned long sum = 0;
    for (unsigned long i = 0; i < n; i++) sum += i ^ (sum >> 3);
    sink = sum;
}

typedef long vector __attribute__((vector_size(64), aligned(64)));

__attribute__((noinline)) static vector add(vector a, vector b, int n) {
    vector room[2] = {a, b};
    __asm__ volatile("" : : "r"(room) : "memory");
    burn(n);
    return room[0] + room[1];
}

__attribute__((noinline)) static long with_alloca(int frames, unsigned size) {
    char *room = alloca(size);
    memset(room, frames, size);
    burn(2000);
    long below = frames > 0 ? with_alloca(frames - 1, size * 5 % 4093 + 1) : 0;
    burn(2000);
    return below + room[size - 1];
}

__attribute__((noinline)) static vector with_both(int frames, unsigned size, vector kept) {
    vector aligned __attribute__((aligned(128))) = kept + frames;
    char room[size];
    memset(room, 1, size);
    __asm__ volatile("" : : "r"(room), "r"(&aligned) : "memory");
    vector below = frames > 0 ? with_both(frames - 1, size * 7 % 1021 + 1, kept) : kept;
    vector sum = add(below, aligned, 3000);
    return add(sum, kept, 1000) + room[0];
}

int main(void) {
    long total = 0;
    for (int round = 0; round < 1000; round++) {
        vector kept = {round, 1, 2, 3, 4, 5, 6, 7};
        total += with_alloca(20, 100 + round);
        vector sum = with_both(20, 50 + round, kept);
        for (int i = 0; i < 8; i++) total += sum[i];
    }
    printf("%ld\n", total);
    return 0;
}
