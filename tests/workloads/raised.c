/* Sends itself SIGPROF with the signal open, blocked, and blocked since its handler runs, and says how often the
 * handler did not run as often as it was sent. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

static volatile sig_atomic_t came, again;
static void work(int times) {
    for (volatile int i = 0; i < times; i++) continue;
}
static void count(int signal) {
    came += signal == SIGPROF;
    if (again) {
        again = 0;
        work(200000);
        raise(SIGPROF);
    }
}

int main(void) {
    enum { OPEN, BLOCKED, BY_NUMBER, IN_HANDLER, WAYS };
    static const int times[WAYS] = {100000, 20000, 20000, 300};
    unsigned long word = 1UL << (SIGPROF - 1);
    int lost[WAYS] = {0};
    sigset_t prof;
    sigemptyset(&prof);
    sigaddset(&prof, SIGPROF);
    signal(SIGPROF, count);
    for (int way = 0; way < WAYS; way++) {
        for (int i = 0; i < times[way]; i++) {
            came = 0;
            again = way == IN_HANDLER;
            if (way == BLOCKED) sigprocmask(SIG_BLOCK, &prof, NULL);
            if (way == BY_NUMBER) syscall(SYS_rt_sigprocmask, SIG_BLOCK, &word, NULL, 8L);
            if (way != OPEN) work(20000);
            raise(SIGPROF);
            if (way == BLOCKED) sigprocmask(SIG_UNBLOCK, &prof, NULL);
            if (way == BY_NUMBER) syscall(SYS_rt_sigprocmask, SIG_UNBLOCK, &word, NULL, 8L);
            lost[way] += came != 1 + (way == IN_HANDLER);
        }
    }
    printf("lost %d %d %d %d\n", lost[OPEN], lost[BLOCKED], lost[BY_NUMBER], lost[IN_HANDLER]);
    return 0;
}
