/* A handler leaves each kind of wait by longjmp, which keeps the mask that the wait had: SIGUSR1 open and
 * SIGUSR2 blocked. After each, some work, and at last more of it. Out of the last wait the handler takes
 * SIGTRAP for the program, too. */
#define _GNU_SOURCE
#include <linux/io_uring.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
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

static volatile sig_atomic_t trapped, traps;
static void on_trap(int signal) { trapped += signal == SIGTRAP; }

static jmp_buf back;
static void leave(int number) {
    if (traps) signal(SIGTRAP, on_trap);
    _longjmp(back, number);
}

static sigset_t open_usr1;
static void by_sigsuspend(void) { sigsuspend(&open_usr1); }
static void by_ppoll(void) { ppoll(NULL, 0, NULL, &open_usr1); }
static void by_pselect(void) { pselect(0, NULL, NULL, NULL, NULL, &open_usr1); }
static void by_epoll_pwait(void) {
    struct epoll_event event;
    epoll_pwait(epoll_create1(0), &event, 1, -1, &open_usr1);
}
/* These have no mask of their own: the signal is opened before, and comes in the wait. */
static void by_sleep(void) { sleep(3600); }
static void by_nanosleep(void) { nanosleep(&(struct timespec){3600, 0}, NULL); }
static void by_recv(void) {
    int sockets[2];
    char byte;
    socketpair(AF_UNIX, SOCK_STREAM, 0, sockets);
    recv(sockets[0], &byte, 1, 0);
}
static void by_poll(void) { poll(NULL, 0, 3600000); }
static void by_io_uring(void) {
    struct io_uring_params parameters = {0};
    int ring = (int)syscall(SYS_io_uring_setup, 8, &parameters);
    if (ring < 0) sleep(3600);
    syscall(SYS_io_uring_enter, ring, 0, 1, IORING_ENTER_GETEVENTS, NULL, 0);
}

/* Whether there is somewhere to jump to; seen by children. */
static volatile int *armed;
/* Sends the signal when the wait has begun, most probably. */
static void later(void) {
    pid_t parent = getpid();
    if (fork() == 0) {
        while (!*armed && getppid() == parent) usleep(1000);
        usleep(30000);
        kill(parent, SIGUSR1);
        _exit(0);
    }
}

enum { MASKED = 4 };

int main(void) {
    static void (*const waits[])(void) = {by_sigsuspend, by_ppoll, by_pselect, by_epoll_pwait,
                                          by_sleep, by_nanosleep, by_recv, by_poll,
                                          by_io_uring};
    volatile int left = 0, open = 0, blocked = 0;
    armed = mmap(NULL, sizeof *armed, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (armed == MAP_FAILED) return 1;
    sigset_t usr1, now;
    sigemptyset(&usr1);
    sigaddset(&usr1, SIGUSR1);
    sigemptyset(&open_usr1);
    sigaddset(&open_usr1, SIGUSR2);
    struct sigaction action = {.sa_handler = leave, .sa_flags = SA_NODEFER};
    sigaction(SIGUSR1, &action, NULL);
    signal(SIGCHLD, SIG_IGN);
    for (volatile int kind = 0; kind < (int)(sizeof waits / sizeof waits[0]); kind++) {
        /* Before the signal is on its way, which a busy machine may let overtake the wait. */
        traps = waits[kind] == by_io_uring;
        sigprocmask(SIG_SETMASK, kind < MASKED ? &usr1 : &open_usr1, NULL);
        *armed = 0;
        if (kind < MASKED)
            raise(SIGUSR1);
        else
            later();
        if (_setjmp(back) == 0) {
            *armed = 1;
            waits[kind]();
        } else
            left++;
        sigprocmask(SIG_SETMASK, NULL, &now);
        open += !sigismember(&now, SIGUSR1) && !sigismember(&now, SIGPROF);
        blocked += sigismember(&now, SIGUSR2);
        work(5000000);
    }
    work_at_last();
    raise(SIGTRAP);
    printf("left %d, open %d, blocked %d, trapped %d\n", left, open, blocked, (int)trapped);
    return 0;
}
