/* Each process forks the next one, 40 generations: says whether each has more mappings than the one before. */
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

static int mappings(void) {
    FILE *file = fopen("/proc/self/maps", "r");
    int lines = 0, byte;
    while (file && (byte = getc(file)) != EOF) lines += byte == '\n';
    if (file) fclose(file);
    return lines;
}

int main(void) {
    volatile unsigned long sum = 0;
    int before = mappings();
    for (int generation = 0; generation < 40; generation++) {
        for (unsigned long i = 0; i < 2000000; i++) sum += i;
        pid_t child = fork();
        if (child != 0) {
            int status = 1;
            waitpid(child, &status, 0);
            return WEXITSTATUS(status);
        }
    }
    int grown = mappings() - before;
    if (grown > 20) printf("%d mappings more\n", grown);
    printf("mappings: %s\n", grown <= 20 ? "few" : "more in each generation");
    return 0;
}
