/* A thread asks to be traced and ends. Whoever started the program is its tracer, and has to learn of
 * that end: until then the program is there. Then the main thread ends. */
#include <pthread.h>
#include <stdio.h>
#include <sys/ptrace.h>

static void *ask(void *argument) {
    (void)argument;
    return ptrace(PTRACE_TRACEME, 0, 0, 0) ? "" : "traced";
}

int main(void) {
    pthread_t thread;
    void *answer;
    pthread_create(&thread, NULL, ask, NULL);
    pthread_join(thread, &answer);
    printf("%s\n", (char *)answer);
    return 7;
}
