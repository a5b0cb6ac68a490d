/* Processes made while other threads come and go have the limit of open files that this one has: forked
 * ones, programs that they execute, and those of posix_spawn and vfork. Says how often they had another, and how often one that this process set
 * meanwhile did not stay. */
#include <pthread.h>
#include <sched.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;
static volatile int stop;
static volatile unsigned long result;

static void *brief(void *argument) {
    for (unsigned long i = 0; i < 1000; i++) result += i;
    return argument;
}

static void *creates(void *argument) {
    while (!stop) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, brief, NULL) == 0) pthread_join(thread, NULL);
    }
    return argument;
}

static unsigned limit(void) {
    struct rlimit now;
    getrlimit(RLIMIT_NOFILE, &now);
    return (unsigned)now.rlim_cur;
}

static int is_lost(unsigned wanted) {
    struct rlimit now;
    getrlimit(RLIMIT_NOFILE, &now);
    now.rlim_cur = wanted;
    setrlimit(RLIMIT_NOFILE, &now);
    for (int i = 0; i < 10000; i++) {
        if (limit() == wanted) return 0;
        sched_yield();
    }
    return 1;
}

int main(int count, char **arguments) {
    if (count > 1) return limit() != (unsigned)atoi(arguments[1]);
    int wrong = 0;
    char text[16];
    struct rlimit now;
    getrlimit(RLIMIT_NOFILE, &now);
    now.rlim_cur = 256;
    setrlimit(RLIMIT_NOFILE, &now);
    snprintf(text, sizeof text, "%u", limit());
    pthread_t threads[2];
    for (int i = 0; i < 2; i++) pthread_create(&threads[i], NULL, creates, NULL);
    for (int i = 0; i < 200; i++) {
        int status = 0;
        pid_t child = fork();
        if (child == 0 && i % 10 == 0) execl("/proc/self/exe", arguments[0], text, (char *)NULL);
        if (child == 0) _exit(limit() != 256);
        waitpid(child, &status, 0);
        wrong += status != 0;
    }
    for (int i = 0; i < 100; i++) {
        int status = 0;
        pid_t child = -1;
        char *words[] = {arguments[0], text, NULL};
        if (i % 2) {
            posix_spawn(&child, "/proc/self/exe", NULL, NULL, words, environ);
        } else if ((child = vfork()) == 0) {
            execv("/proc/self/exe", words);
            _exit(9);
        }
        waitpid(child, &status, 0);
        wrong += status != 0;
    }
    for (int i = 0; i < 200000; i++) wrong += limit() != 256;
    int lost = 0;
    for (unsigned i = 0; i < 5000; i++) lost += is_lost(300 + i % 1000);
    stop = 1;
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    printf("wrong: %d, lost: %d\n", wrong, lost);
    return 0;
}
