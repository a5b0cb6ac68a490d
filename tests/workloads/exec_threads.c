/* exec_threads COUNT [thread]: replaces itself COUNT times while other threads burn CPU and create
 * threads; the main thread does, or another one. A sample on its way, or a thread that starts to be
 * sampled just then, must not kill the next image. */
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

static void *replace(void *argument) {
    char **arguments = argument, text[16];
    work(300000);
    snprintf(text, sizeof text, "%d", atoi(arguments[1]) - 1);
    execl("/proc/self/exe", arguments[0], text, arguments[2], (char *)NULL);
    perror("execl");
    exit(1);
}

int main(int count, char **arguments) {
    if (count < 2 || atoi(arguments[1]) == 0) {
        puts("end");
        return 11;
    }
    for (int i = 0; i < 3; i++) {
        pthread_t thread;
        pthread_create(&thread, NULL, busy, NULL);
    }
    pthread_t thread;
    if (count > 2 && pthread_create(&thread, NULL, replace, arguments) == 0) work(2000000000);
    replace(arguments);
}
