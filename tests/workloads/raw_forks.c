/* Forks behind the C library's back, while the program and its threads work. The children end as
 * threads and processes do: by pthread_exit, exit, a call of fork, and timers of their own; or they
 * forbid themselves all system calls but exec, and call that. What the parent has sampled stays, and its
 * timers and events go on. */
#define _GNU_SOURCE
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static long raw_fork(int way) {
    if (way == 0)
        return syscall(SYS_fork);
    if (way == 1)
        return syscall(SYS_clone, (long)SIGCHLD, 0L, 0L, 0L, 0L);
    long result;
    __asm__ volatile("syscall" : "=a"(result) : "a"((long)SYS_fork) : "rcx", "r11", "memory");
    return result;
}

static void burn(long milliseconds) {
    struct timespec now, end;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &end);
    end.tv_nsec += milliseconds % 1000 * 1000000;
    end.tv_sec += milliseconds / 1000 + end.tv_nsec / 1000000000;
    end.tv_nsec %= 1000000000;
    do
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    while (now.tv_sec < end.tv_sec || (now.tv_sec == end.tv_sec && now.tv_nsec < end.tv_nsec));
}

static void *thread(void *argument) {
    burn(5);
    return argument;
}

static volatile sig_atomic_t rang;

static void ring(int number) {
    (void)number;
    rang++;
}

static void forbid_all_but_exec(void) {
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_execve, 1, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
    };
    struct sock_fprog program = {sizeof code / sizeof *code, code};
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

static void child(int kind) {
    if (kind == 0) {
        /* The only thread ends, and so the process. */
        burn(2);
        pthread_exit(NULL);
    } else if (kind == 1) {
        pthread_t other;
        pthread_create(&other, NULL, thread, NULL);
        pthread_join(other, NULL);
        exit(3);
    } else if (kind == 2) {
        pid_t grandchild = fork();
        if (grandchild == 0) {
            burn(2);
            _exit(5);
        }
        int status;
        waitpid(grandchild, &status, 0);
        exit(WEXITSTATUS(status));
    } else if (kind == 3) {
        char *words[] = {"program", NULL};
        forbid_all_but_exec();
        execv("./there-is-none", words);
        _exit(7);
    } else {
        /* A timer of the child's own has the number of one of its parent's. */
        struct sigevent event;
        struct itimerspec soon = {{0, 0}, {0, 3000000}};
        timer_t timer;
        memset(&event, 0, sizeof event);
        event.sigev_notify = SIGEV_SIGNAL;
        event.sigev_signo = SIGALRM;
        signal(SIGALRM, ring);
        timer_create(CLOCK_MONOTONIC, &event, &timer);
        timer_settime(timer, 0, &soon, NULL);
        while (!rang)
            burn(1);
        exit(rang);
    }
}

int main(void) {
    int sum = 0;
    pthread_t other;
    for (int i = 0; i < 24; i++) {
        pthread_create(&other, NULL, thread, NULL);
        burn(10);
        fflush(stdout);
        long pid = raw_fork(i / 4 % 3);
        if (pid == 0)
            child(i % 5);
        int status;
        waitpid((pid_t)pid, &status, 0);
        sum += WIFEXITED(status) ? WEXITSTATUS(status) : 100;
        burn(10);
        pthread_join(other, NULL);
    }
    printf("children said %d\n", sum);
    return 0;
}
