/* traced [syscall]: lets four children ask it to trace them. Each stops once by itself, computes for
 * 50 ms of its CPU time, and ends. Says at which signals they stopped. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double cpu_seconds(void) {
    struct timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return time.tv_sec + time.tv_nsec / 1e9;
}

static void child(int by_syscall) {
    if (by_syscall) syscall(SYS_ptrace, PTRACE_TRACEME, 0, 0, 0);
    else ptrace(PTRACE_TRACEME, 0, 0, 0);
    raise(SIGUSR1);
    double start = cpu_seconds();
    while (cpu_seconds() - start < 0.05) {}
    _exit(7);
}

int main(int count, char **arguments) {
    (void)arguments;
    int stops[65] = {0}, ended = 0;
    for (int i = 0; i < 4; i++) {
        int status, pid = fork();
        if (pid == 0) child(count > 1);
        while (waitpid(pid, &status, 0) == pid && WIFSTOPPED(status)) {
            stops[WSTOPSIG(status)]++;
            ptrace(PTRACE_CONT, pid, 0, 0);
        }
        ended += WIFEXITED(status) && WEXITSTATUS(status) == 7;
    }
    for (int signal = 1; signal < 65; signal++)
        if (stops[signal]) printf("stopped by %s %d times, ", sigabbrev_np(signal), stops[signal]);
    printf("%d ended\n", ended);
    return 0;
}
