/* Waits that the profiling signal ends, which another process sends again and again, and what the thread knows of its
 * mask afterwards: with the signal open, and blocked but in the wait. And which mask its handler has: that of the wait
 * and its own. */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static sigset_t none, empty, profiling;
static volatile sig_atomic_t came, blocked_in_handler;

static int is_blocked(void) {
    sigset_t now;
    sigprocmask(SIG_BLOCK, NULL, &now);
    return sigismember(&now, SIGPROF);
}

static void on(int signal) {
    (void)signal;
    came++;
    blocked_in_handler += is_blocked();
}

__attribute__((noinline)) static void work(long ms) {
    struct timespec begin, now;
    volatile unsigned sum = 0;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
    do {
        for (unsigned i = 0; i < 10000; i++) sum += i;
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    } while ((now.tv_sec - begin.tv_sec) * 1000 + (now.tv_nsec - begin.tv_nsec) / 1000000 < ms);
}

static int wait_by(int kind) {
    struct epoll_event event;
    switch (kind) {
    case 0: return sigsuspend(&none);
    case 1: return ppoll(NULL, 0, NULL, &none);
    case 2: return pselect(0, NULL, NULL, NULL, NULL, &none);
    case 3: return epoll_pwait(epoll_create1(0), &event, 1, -1, &none);
    case 4: return pause();
    default: return sigpause(SIGUSR2);
    }
}

static volatile sig_atomic_t other_came, other_blocked, waits_for_other;

static void on_other(int signal) {
    (void)signal;
    other_came++;
}

static void on_in_wait(int signal) {
    sigset_t now;
    (void)signal;
    came++;
    sigprocmask(SIG_BLOCK, NULL, &now);
    other_blocked += sigismember(&now, SIGUSR1);
    if (waits_for_other) {
        kill(getpid(), SIGUSR1);
        while (!other_came) {}
    }
}

/* The mask of the profiling signal's handler, where the wait's blocks another signal that is open outside, and where
 * it is the other way round. */
static void masks(void) {
    static const char *const names[] = {"sigsuspend", "ppoll", "pselect", "epoll_pwait"};
    struct sigaction action = {.sa_handler = on_other};
    sigset_t all, other;
    sigaction(SIGUSR1, &action, NULL);
    action.sa_handler = on_in_wait;
    sigaction(SIGPROF, &action, NULL);
    sigfillset(&all);
    sigdelset(&all, SIGPROF);
    sigemptyset(&other);
    sigaddset(&other, SIGUSR1);
    for (int blocks = 0; blocks < 2; blocks++)
        for (int kind = 0; kind < 4; kind++) {
            int blocked, opened;
            sigprocmask(SIG_SETMASK, blocks ? &profiling : &empty, NULL);
            none = all;
            other_blocked = 0;
            wait_by(kind);
            blocked = other_blocked > 0;
            sigprocmask(SIG_BLOCK, &other, NULL);
            none = empty;
            sigprocmask(SIG_BLOCK, &profiling, NULL);
            came = other_came = 0;
            waits_for_other = 1;
            wait_by(kind);
            waits_for_other = 0;
            opened = other_came;
            printf("%s: blocked %d, came in the handler %d\n", names[kind], blocked, opened);
        }
}

int main(void) {
    static const char *const names[] = {"sigsuspend", "ppoll", "pselect", "epoll_pwait", "pause", "sigpause"};
    struct sigaction action = {.sa_handler = on};
    pid_t child;
    sigemptyset(&none);
    sigemptyset(&empty);
    sigemptyset(&profiling);
    sigaddset(&profiling, SIGPROF);
    sigaction(SIGPROF, &action, NULL);
    child = fork();
    if (!child) {
        alarm(60);
        for (;;) {
            usleep(10000);
            kill(getppid(), SIGPROF);
        }
        _exit(0);
    }
    for (int blocks = 0; blocks < 2; blocks++) {
        sigprocmask(blocks ? SIG_BLOCK : SIG_UNBLOCK, &profiling, NULL);
        for (int kind = 0; kind < (blocks ? 4 : 6); kind++) {
            int ended = 0, kept = 1, outside = 0;
            came = blocked_in_handler = 0;
            for (int i = 0; i < 10; i++) {
                int before;
                work(5);
                before = came;
                ended += wait_by(kind) == -1 && errno == EINTR;
                kept &= is_blocked() == blocks;
                work(5);
                outside += blocks && came != i + 1;
            }
            printf("%s: ended %d, mask kept %d, came outside %d, blocked in handlers %d\n", names[kind], ended, kept,
                   outside, blocked_in_handler == came);
        }
    }
    masks();
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    return 0;
}
