/* traced [syscall|refused]: lets four children ask it to trace them. Each stops once by itself if that
 * was granted, computes for 50 ms of its CPU time, and ends. Says at which signals they stopped. For
 * `refused` the program executes itself under a filter that refuses ptrace(2); a SIGPROF that waits meanwhile
 * goes on waiting. */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "kernel_call.h"

static double cpu_seconds(void) {
    struct timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return time.tv_sec + time.tv_nsec / 1e9;
}

/* Once is enough: a second request fails, and a signal that waits goes on waiting. */
static void ask_again(void) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGPROF);
    kernel_call(SYS_rt_sigprocmask, SIG_BLOCK, &set, NULL, 8);
    kill(getpid(), SIGPROF);
    if (ptrace(PTRACE_TRACEME, 0, 0, 0) != -1) _exit(5);
    sigpending(&set);
    if (!sigismember(&set, SIGPROF)) _exit(6);
}

static volatile sig_atomic_t came;
static void on_prof(int signal) { came += signal == SIGPROF; }

static void child(int by_syscall, int is_refused) {
    sigset_t prof;
    sigemptyset(&prof);
    sigaddset(&prof, SIGPROF);
    if (is_refused) {
        signal(SIGPROF, on_prof);
        sigprocmask(SIG_BLOCK, &prof, NULL);
        raise(SIGPROF);
    }
    long result = by_syscall ? syscall(SYS_ptrace, PTRACE_TRACEME, 0, 0, 0)
                             : ptrace(PTRACE_TRACEME, 0, 0, 0);
    if (result == 0) {
        raise(SIGUSR1);
        ask_again();
    } else if (result != -1 || errno != EPERM) _exit(8);
    if (is_refused) sigprocmask(SIG_UNBLOCK, &prof, NULL);
    if (came != is_refused) _exit(10);
    double start = cpu_seconds();
    while (cpu_seconds() - start < 0.05) {}
    _exit(7);
}

static void refuse(char *program) {
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_ptrace, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog filter = {4, code};
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0) execl(program, program, "is", "refused", NULL);
    _exit(9);
}

int main(int count, char **arguments) {
    if (count > 1 && strcmp(arguments[1], "refused") == 0) refuse(*arguments);
    int stops[65] = {0}, ended = 0;
    for (int i = 0; i < 4; i++) {
        int status, pid = fork();
        if (pid == 0) child(count == 2, count == 3);
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
