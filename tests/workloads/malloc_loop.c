/* Asks for blocks of 16 to 1039 bytes and gives them back, ARGUMENT times, at most 4096 at a time:
 * nothing but what the allocator, and who looks at it, takes. */
#include <stdlib.h>

static void *blocks[4096];

int main(int argc, char **argv)
{
    long times = argc > 1 ? atol(argv[1]) : 1000;
    unsigned state = 1;
    for (long i = 0; i < times; i++) {
        state = state * 1103515245 + 12345;
        unsigned place = state >> 16 & 4095;
        free(blocks[place]);
        blocks[place] = malloc(16 + (state >> 8 & 1023));
    }
    for (int i = 0; i < 4096; i++)
        free(blocks[i]);
    return 0;
}
