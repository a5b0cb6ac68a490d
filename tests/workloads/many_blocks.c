/* Asks for 400 000 blocks of 16 bytes, and keeps them. */
#include <stdlib.h>

static void *kept[400000];

__attribute__((noinline)) static void keep(void) {
    for (int i = 0; i < 400000; i++) kept[i] = malloc(16);
}

int main(void) {
    keep();
    return kept[399999] == NULL;
}
