/* A program that uses SIGPROF itself, in every way the C library offers, and reads back what it
 * set. With and without a profiler it must print the same. Nothing fires: all times are long. */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

extern int siggetmask(void);
static void first(int s) { (void)s; }
static void second(int s, siginfo_t *i, void *c) { (void)s; (void)i; (void)c; }

static const char *name(void *handler) {
    if (handler == (void *)SIG_DFL) return "default";
    if (handler == (void *)SIG_IGN) return "ignore";
    if (handler == (void *)SIG_HOLD) return "hold";
    if (handler == (void *)first) return "first";
    if (handler == (void *)second) return "second";
    return "unknown";
}

static const char *blocked(void) {
    sigset_t now;
    sigprocmask(SIG_BLOCK, NULL, &now);
    return sigismember(&now, SIGPROF) ? "blocked" : "open";
}

int main(void) {
    struct sigaction action, old;
    sigaction(SIGPROF, NULL, &old);
    printf("inherited %s\n", name(old.sa_handler));

    memset(&action, 0, sizeof action);
    action.sa_sigaction = second;
    action.sa_flags = SA_SIGINFO | SA_RESTART;
    sigaddset(&action.sa_mask, SIGUSR2);
    printf("sigaction %d\n", sigaction(SIGPROF, &action, &old));
    sigaction(SIGPROF, NULL, &old);
    printf("reads back %s restart %d usr2 %d usr1 %d\n", name(old.sa_sigaction),
           !!(old.sa_flags & SA_RESTART), sigismember(&old.sa_mask, SIGUSR2),
           sigismember(&old.sa_mask, SIGUSR1));
    printf("signal %s\n", name(signal(SIGPROF, first)));
    printf("bsd_signal %s\n", name(ssignal(SIGPROF, SIG_IGN)));
    printf("refused %d", signal(SIGPROF, SIG_ERR) == SIG_ERR);
    printf(" %d\n", sysv_signal(SIGPROF, SIG_ERR) == SIG_ERR);
    printf("sysv_signal %s\n", name(sysv_signal(SIGPROF, first)));
    sigaction(SIGPROF, NULL, &old);
    printf("one shot %d\n", !!(old.sa_flags & SA_RESETHAND));
    printf("sigset %s\n", name(sigset(SIGPROF, SIG_HOLD)));
    printf("%s\n", blocked());
    printf("sigset %s\n", name(sigset(SIGPROF, SIG_DFL)));
    printf("%s\n", blocked());
    printf("sigignore %d\n", sigignore(SIGPROF));
    int held = sighold(SIGPROF);
    printf("sighold %d %s\n", held, blocked());
    int released = sigrelse(SIGPROF);
    printf("sigrelse %d %s\n", released, blocked());
    printf("siginterrupt %d\n", siginterrupt(SIGPROF, 1));

    /* Another signal whose handler runs with SIGPROF blocked. */
    memset(&action, 0, sizeof action);
    action.sa_handler = first;
    sigfillset(&action.sa_mask);
    sigaction(SIGUSR1, &action, NULL);
    sigaction(SIGUSR1, NULL, &old);
    printf("usr1 masks prof %d usr2 %d\n", sigismember(&old.sa_mask, SIGPROF),
           sigismember(&old.sa_mask, SIGUSR2));

    sigset_t all, before;
    sigfillset(&all);
    printf("block all %d\n", sigprocmask(SIG_BLOCK, &all, &before));
    printf("was %d %s\n", sigismember(&before, SIGPROF), blocked());
    printf("set %d\n", pthread_sigmask(SIG_SETMASK, &before, &all));
    printf("was %d %s\n", sigismember(&all, SIGPROF), blocked());
    sigfillset(&all);
    printf("bad how %d", sigprocmask(77, &all, NULL));
    printf(" %s %s\n", strerror(errno), blocked());
    int prof = 1 << (SIGPROF - 1), usr1 = 1 << (SIGUSR1 - 1);
    printf("sigblock %#x\n", sigblock(prof | usr1));
    printf("siggetmask %#x\n", siggetmask());
    printf("sigsetmask %#x\n", sigsetmask(usr1));
    printf("sigsetmask %#x\n", sigsetmask(0));

    struct itimerval timer = {{3000, 0}, {2000, 0}}, read;
    printf("setitimer %d\n", setitimer(ITIMER_PROF, &timer, NULL));
    getitimer(ITIMER_PROF, &read);
    printf("interval %ld left %d\n", (long)read.it_interval.tv_sec,
           read.it_value.tv_sec >= 1990 && read.it_value.tv_sec <= 2000);
    timer.it_value.tv_usec = 1000000;
    int status = setitimer(ITIMER_PROF, &timer, NULL);
    printf("bad time %d %s\n", status, strerror(errno));
    memset(&timer, 0, sizeof timer);
    printf("stop %d\n", setitimer(ITIMER_PROF, &timer, &read));
    printf("interval %ld\n", (long)read.it_interval.tv_sec);
    getitimer(ITIMER_PROF, &read);
    printf("stopped %d\n", read.it_value.tv_sec == 0 && read.it_value.tv_usec == 0);

    timer_t posix;
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGPROF};
    printf("timer_create %d\n", timer_create(CLOCK_MONOTONIC, &event, &posix));
    struct itimerspec spec = {{0, 0}, {1000, 0}}, left;
    printf("timer_settime %d\n", timer_settime(posix, 0, &spec, NULL));
    timer_gettime(posix, &left);
    printf("left %d\n", left.it_value.tv_sec >= 990);
    printf("timer_delete %d\n", timer_delete(posix));
    return 0;
}
