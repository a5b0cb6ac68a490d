/* Uses CPU time in busy() until the file named by its argument is there, which it looks for ten
 * times a second of CPU time or so. */
#include <stdio.h>
#include <unistd.h>

static volatile unsigned long sum;

__attribute__((noinline)) static void busy(void) {
    for (unsigned long i = 0; i < 20000000; i++)
        sum += i;
    __asm__ volatile("");
}

int main(int argc, char **argv) {
    while (argc > 1 && access(argv[1], F_OK) != 0)
        busy();
    puts("told");
    return 0;
}
