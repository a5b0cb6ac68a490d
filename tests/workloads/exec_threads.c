/* Replaces itself again and again while other threads burn CPU and create threads. A sample on its
 * way, or a thread that starts to be sampled just then, must not kill the next image. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static volatile unsigned long result;

static void work(unsigned steps) {
    unsigned long value = steps;
    while (steps-- > 0) value = value * 6364136223846793005UL + 1;
    result = value;
}

static void *brief(void *argument) {
    work(1000);
    return argument;
}

static void *busy(void *argument) {
    for (;;) {
        pthread_t thread;
        work(20000);
        if (pthread_create(&thread, NULL, brief, NULL) == 0) pthread_join(thread, NULL);
    }
    return argument;
}

int main(int count, char **arguments) {
    int left = count > 1 ? atoi(arguments[1]) : 0;
    char text[16];
    if (left == 0) {
        puts("end");
        return 11;
    }
    for (int i = 0; i < 3; i++) {
        pthread_t thread;
        pthread_create(&thread, NULL, busy, NULL);
    }
    work(300000);
    snprintf(text, sizeof text, "%d", left - 1);
    execl("/proc/self/exe", arguments[0], text, (char *)NULL);
    perror("execl");
    return 1;
}
