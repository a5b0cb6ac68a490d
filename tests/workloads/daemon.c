/* Ends at once and leaves a daemon behind, which works for a second of CPU time. */
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static volatile unsigned long sink;

__attribute__((noinline)) static void work(void) {
    clock_t start = clock();
    do
        for (unsigned long i = 0; i < 100000; i++) sink += i * i;
    while (clock() - start < CLOCKS_PER_SEC);
}

int main(void) {
    pid_t between = fork();
    if (between != 0) return between > 0 && waitpid(between, NULL, 0) == between ? 3 : 1;
    setsid();
    if (fork() != 0) return 0;
    /* Nobody waits for the end of its output. */
    for (int file = 0; file < 3; file++) close(file);
    work();
    return 0;
}
