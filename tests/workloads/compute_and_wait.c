// Computes in one function and waits in another, in turns: `compute_and_wait HOW`.
//
//   plain    ten turns of 50 ms of CPU time and 50 ms of sleep
//   threads  the same in two threads at once, and not in the main thread
//   fork     the same in a child, while the parent waits for it
//   exec     the turns, then the program again by exec, with `plain`
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { TURNS = 10, MS = 50 };

static __thread volatile unsigned long sink;

static double cpu_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return now.tv_sec * 1e3 + now.tv_nsec / 1e6;
}

__attribute__((noinline)) static void compute(void) {
    double end = cpu_ms() + MS;
    while (cpu_ms() < end)
        for (int i = 0; i < 20000; i++) sink += i;
}

// A sleep that a sample ends goes on for the rest of its time.
__attribute__((noinline)) static void wait_a_while(void) {
    struct timespec left = {0, MS * 1000000};
    while (nanosleep(&left, &left) && errno == EINTR) sink++;
}

__attribute__((noinline)) static void turns(int number) {
    for (int i = 0; i < number; i++) {
        compute();
        wait_a_while();
        sink++;
    }
}

static void *thread(void *nothing) {
    turns(TURNS);
    return nothing;
}

int main(int argc, char **argv) {
    const char *how = argc > 1 ? argv[1] : "plain";
    if (!strcmp(how, "threads")) {
        pthread_t two[2];
        for (int i = 0; i < 2; i++)
            if (pthread_create(&two[i], NULL, thread, NULL)) return 1;
        for (int i = 0; i < 2; i++) pthread_join(two[i], NULL);
    } else if (!strcmp(how, "fork")) {
        int status = 0;
        pid_t child = fork();
        if (child == 0) {
            turns(TURNS);
            _exit(0);
        }
        if (waitpid(child, &status, 0) != child || status) return 2;
    } else if (!strcmp(how, "exec")) {
        turns(TURNS);
        execl(argv[0], argv[0], "plain", (char *)NULL);
        return 3;
    } else {
        turns(TURNS);
    }
    puts("done");
    return 0;
}
