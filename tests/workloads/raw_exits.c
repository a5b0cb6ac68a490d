/* Threads that end by a system call, behind the C library's back: says whether the timers that a profiler has
 * made for them pile up. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static volatile unsigned long sink;

static void *ends(void *argument) {
    for (unsigned long i = 0; i < 300000; i++) sink += i;
    syscall(SYS_exit, 0);
    return argument;
}

int main(void) {
    for (int i = 0; i < 300; i++) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, ends, NULL) != 0) return 1;
        /* The kernel tells of the end all the same. */
        pthread_join(thread, NULL);
    }
    int timers = 0;
    char line[256];
    FILE *file = fopen("/proc/self/timers", "r");
    while (file && fgets(line, sizeof line, file)) timers += strncmp(line, "ID:", 3) == 0;
    printf("timers: %s\n", timers <= 16 ? "few" : "as many as threads");
    return 0;
}
