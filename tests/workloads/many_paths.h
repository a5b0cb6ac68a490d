/* Work, and more call paths than a small memory has room for: what programs do that are short of something. */
#include <time.h>

static volatile unsigned long result;

__attribute__((noipa)) static void work(int ms) {
    clock_t start = clock();
    do
        for (unsigned long i = 0; i < 100000; i++) result += i * i;
    while (clock() - start < (long)CLOCKS_PER_SEC / 1000 * ms);
}

/* Many call paths, so that a tree of them needs memory. What follows the calls keeps them calls. */
__attribute__((noinline)) static unsigned many(unsigned depth, unsigned path) {
    unsigned below = path;
    for (unsigned i = 0; i < 200; i++) result += i * path;
    if (depth == 0) return path;
    if (path & 1)
        below = many(depth - 1, path / 2) + 1;
    else if (path & 2)
        below = many(depth - 1, path / 3) + 2;
    else
        below = many(depth - 1, path / 5 + 7) + 3;
    result += below;
    return below;
}
