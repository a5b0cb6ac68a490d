/* endings HOW: works for 400 ms of CPU time and ends in the given way. endings all: a child ends in
 * every way after 20 ms of work; prints what became of it. */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static volatile unsigned long sink;
static int work_ms = 400;

__attribute__((noinline)) static void work(void) {
    clock_t start = clock();
    do
        for (unsigned long i = 0; i < 100000; i++) sink += i * i;
    while (clock() - start < CLOCKS_PER_SEC / 1000 * work_ms);
}

static void *exit_all(void *unused) {
    work();
    exit(8);
    return unused;
}

static void *outlive_main(void *unused) {
    work();
    return unused;
}

static void end_here(int signal) {
    work();
    if (signal == SIGSEGV) _exit(9);
    exit(10);
}

static int end(const char *how) {
    char *argv[] = {NULL, (char *)how};
    work();
    if (!strcmp(argv[1], "return")) return 3;
    if (!strcmp(argv[1], "exit")) exit(4);
    if (!strcmp(argv[1], "handler")) signal(SIGUSR1, end_here), raise(SIGUSR1);
    if (!strcmp(argv[1], "handled fault")) signal(SIGSEGV, end_here), *(volatile int *)8 = 0;
    if (!strcmp(argv[1], "main thread")) {
        pthread_t thread;
        pthread_create(&thread, NULL, outlive_main, NULL);
        pthread_exit(NULL);
    }
    if (!strcmp(argv[1], "_exit")) _exit(5);
    if (!strcmp(argv[1], "exit_group")) syscall(SYS_exit_group, 6);
    if (!strcmp(argv[1], "quick_exit")) quick_exit(7);
    if (!strcmp(argv[1], "thread")) {
        pthread_t thread;
        pthread_create(&thread, NULL, exit_all, NULL);
        pthread_join(thread, NULL);
    }
    if (!strcmp(argv[1], "abort")) abort();
    if (!strcmp(argv[1], "trap")) __builtin_trap();
    if (!strcmp(argv[1], "fault")) *(volatile int *)8 = 0;
    if (!strcmp(argv[1], "terminate")) kill(getpid(), SIGTERM);
    if (!strcmp(argv[1], "kill")) kill(getpid(), SIGKILL);
    if (!strcmp(argv[1], "wait")) {
        /* A job in the background starts with interrupts ignored. */
        signal(SIGINT, SIG_DFL);
        puts("ready");
        fflush(stdout);
        for (;;) pause();
    }
    return 1;
}

int main(int argc, char **argv) {
    static const char *const ways[] = {
        "return", "exit",  "_exit", "exit_group", "quick_exit", "thread",        "handler",
        "abort",  "trap",  "fault", "terminate",  "kill",       "handled fault", "main thread"};
    if (argc > 1 && strcmp(argv[1], "all") != 0) return end(argv[1]);
    work_ms = 20;
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        int status = 0;
        pid_t child = fork();
        if (child == 0) exit(end(ways[i]));
        waitpid(child, &status, 0);
        if (WIFEXITED(status))
            printf("%s: status %d\n", ways[i], WEXITSTATUS(status));
        else
            printf("%s: signal %d\n", ways[i], WTERMSIG(status));
        fflush(stdout);
    }
    return 0;
}
