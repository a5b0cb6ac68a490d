/* A thread waits, and another one restricts the system calls of both: handlers cannot return any more
 * (rt_sigreturn). Then both go on. Nobody has sent a signal. Once in each of so many children. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "allowed_calls.h"

static volatile unsigned long result;
static void work(void) {
    unsigned long value = 1;
    for (int step = 0; step < 3000000; step++) value = value * 6364136223846793005UL + 1;
    result = value;
}

static void restrict_all(void) {
    struct sock_fprog *program = ALLOW_ONLY(SYS_read, SYS_write, SYS_exit_group, SYS_exit);
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, program)) _exit(8);
}

static int to_waiter[2], from_waiter[2];
static void *waiter(void *nothing) {
    char byte;
    work();
    for (int wait = 0; wait < 2; wait++)
        if (write(from_waiter[1], "", 1) != 1 || read(to_waiter[0], &byte, 1) != 1) _exit(9);
    work();
    if (write(from_waiter[1], &byte, 1) != 1) _exit(9);
    for (;;) read(to_waiter[0], &byte, 1);
    return nothing;
}

static void child(void) {
    pthread_t thread;
    char byte = 0;
    if (pipe(to_waiter) || pipe(from_waiter)) _exit(9);
    pthread_create(&thread, NULL, waiter, NULL);
    work();
    for (int wait = 0; wait < 2; wait++) {
        /* About to wait, however late it began; and then it waits. */
        if (read(from_waiter[0], &byte, 1) != 1) _exit(9);
        usleep(20000);
        if (wait == 0 && write(to_waiter[1], &byte, 1) != 1) _exit(9);
    }
    restrict_all();
    work();
    if (write(to_waiter[1], &byte, 1) != 1 || read(from_waiter[0], &byte, 1) != 1) _exit(9);
    _exit(3);
}

int main(int count, char **arguments) {
    int children = count > 1 ? atoi(arguments[1]) : 4;
    for (int one = 0; one < children; one++) {
        int status;
        pid_t process = fork();
        if (process == 0) child();
        waitpid(process, &status, 0);
        if (WIFSIGNALED(status)) printf("killed by %s\n", sigabbrev_np(WTERMSIG(status)));
        else printf("%d\n", WEXITSTATUS(status));
    }
    puts("done");
    return 0;
}
