/* A thread forks, and the child, whose one thread stands on the stack of that thread, calls the same function again
 * and again. Prints how the child ended. */
#include <pthread.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

enum { STEPS = 200 };

static volatile unsigned long sink;

__attribute__((noinline)) static void step(void) {
    unsigned long value = 1;
    for (int i = 0; i < 3000000; i++) value = value * 3 + (unsigned long)i;
    sink = value;
}

__attribute__((noinline)) static int steps(void) {
    for (int i = 0; i < STEPS; i++) step();
    return 7;
}

static void *thread(void *nothing) {
    int status = 0;
    pid_t child = fork();
    if (child == 0) _exit(steps());
    waitpid(child, &status, 0);
    printf("child %d\n", WEXITSTATUS(status));
    return nothing;
}

int main(void) {
    pthread_t other;
    if (pthread_create(&other, NULL, thread, NULL) != 0) return 1;
    return pthread_join(other, NULL);
}
