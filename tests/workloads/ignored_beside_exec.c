/* Starts programs with SIGPROF ignored, while another thread fails to execute one. Says how many of them do
 * not find it ignored. */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile int stop;
static void *executes(void *nothing) {
    char *words[] = {"./nowhere", NULL};
    while (!stop) execv("./nowhere", words), usleep(50);
    return nothing;
}

static volatile unsigned long sink;
static void work(void) {
    for (unsigned long i = 0; i < 30000000; i++) sink = i;
}

int main(int count, char **words) {
    struct sigaction found;
    if (count > 1) {
        sigaction(SIGPROF, NULL, &found);
        return found.sa_handler == SIG_IGN ? 0 : 1;
    }
    /* Without csprof, they are started faster. */
    char *asks[] = {words[0], "ask", NULL}, *nothing[] = {NULL};
    pthread_t thread;
    int others = 0;
    work();
    signal(SIGPROF, SIG_IGN);
    pthread_create(&thread, NULL, executes, NULL);
    for (int i = 0; i < 300; i++) {
        pid_t pid;
        int status;
        if (posix_spawn(&pid, words[0], NULL, NULL, asks, nothing)) return 1;
        waitpid(pid, &status, 0);
        others += status != 0;
    }
    stop = 1;
    pthread_join(thread, NULL);
    work();
    printf("not ignored: %d\n", others);
    return 0;
}
