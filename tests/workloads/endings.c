/* endings HOW: works for 400 ms of CPU time and ends in the given way. */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static volatile unsigned long sink;

__attribute__((noinline)) static void work(void) {
    clock_t start = clock();
    do
        for (unsigned long i = 0; i < 100000; i++) sink += i * i;
    while (clock() - start < CLOCKS_PER_SEC * 4 / 10);
}

static void *exit_all(void *unused) {
    work();
    exit(8);
    return unused;
}

int main(int argc, char **argv) {
    (void)argc;
    work();
    if (!strcmp(argv[1], "return")) return 3;
    if (!strcmp(argv[1], "exit")) exit(4);
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
