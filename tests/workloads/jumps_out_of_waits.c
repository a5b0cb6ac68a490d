/* A handler leaves each kind of wait by longjmp, which keeps the mask that the wait had: SIGUSR1 open and
 * SIGUSR2 blocked. After each, some work, and at last more of it. */
#define _GNU_SOURCE
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <unistd.h>

static volatile unsigned long sink;
__attribute__((noinline)) static void work(unsigned long n) {
    unsigned long sum = 0;
    for (unsigned long i = 0; i < n; i++) sum += i ^ (sum >> 3);
    sink = sum;
}
__attribute__((noinline)) static void work_at_last(void) {
    work(150000000);
    __asm__ volatile("");
}

static jmp_buf back;
static void leave(int signal) { _longjmp(back, signal); }

static sigset_t open_usr1;
static void by_sigsuspend(void) { sigsuspend(&open_usr1); }
static void by_ppoll(void) { ppoll(NULL, 0, NULL, &open_usr1); }
static void by_pselect(void) { pselect(0, NULL, NULL, NULL, NULL, &open_usr1); }
static void by_epoll_pwait(void) {
    struct epoll_event event;
    epoll_pwait(epoll_create1(0), &event, 1, -1, &open_usr1);
}

int main(void) {
    static void (*const waits[])(void) = {by_sigsuspend, by_ppoll, by_pselect, by_epoll_pwait};
    volatile int left = 0, open = 0, blocked = 0;
    sigset_t usr1, now;
    sigemptyset(&usr1);
    sigaddset(&usr1, SIGUSR1);
    sigemptyset(&open_usr1);
    sigaddset(&open_usr1, SIGUSR2);
    struct sigaction action = {.sa_handler = leave, .sa_flags = SA_NODEFER};
    sigaction(SIGUSR1, &action, NULL);
    for (volatile int kind = 0; kind < 4; kind++) {
        sigprocmask(SIG_SETMASK, &usr1, NULL);
        raise(SIGUSR1);
        if (_setjmp(back) == 0)
            waits[kind]();
        else
            left++;
        sigprocmask(SIG_SETMASK, NULL, &now);
        open += !sigismember(&now, SIGUSR1) && !sigismember(&now, SIGPROF);
        blocked += sigismember(&now, SIGUSR2);
        work(5000000);
    }
    work_at_last();
    printf("left %d, open %d, blocked %d\n", left, open, blocked);
    return 0;
}
