/* Sends itself SIGPROF by each call for it, with the signal open, blocked, and blocked since its
 * handler runs, and says how often the handler did not run as often as it was sent. */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

static void by_raise(void) { raise(SIGPROF); }
static void by_pthread_kill(void) { pthread_kill(pthread_self(), SIGPROF); }
static void by_tgkill(void) { tgkill(getpid(), gettid(), SIGPROF); }
static void by_number(void) { syscall(SYS_tgkill, getpid(), gettid(), SIGPROF); }
static void by_older_number(void) { syscall(SYS_tkill, gettid(), SIGPROF); }
static void by_queue(void) {
    pthread_sigqueue(pthread_self(), SIGPROF, (union sigval){.sival_int = 7});
}
static const struct {
    const char *name;
    void (*send)(void);
} calls[] = {
    {"raise", by_raise},         {"pthread_kill", by_pthread_kill},  {"tgkill", by_tgkill},
    {"SYS_tgkill", by_number},   {"SYS_tkill", by_older_number},     {"pthread_sigqueue", by_queue},
};

static volatile sig_atomic_t came, again;
static void (*send)(void);
static void work(int times) {
    for (volatile int i = 0; i < times; i++) continue;
}
static void count(int signal) {
    came += signal == SIGPROF;
    if (again) {
        again = 0;
        work(200000);
        send();
    }
}

int main(void) {
    enum { OPEN, BLOCKED, BY_NUMBER, IN_HANDLER, WAYS };
    static const int times[WAYS] = {40000, 5000, 5000, 100};
    unsigned long word = 1UL << (SIGPROF - 1);
    sigset_t prof;
    sigemptyset(&prof);
    sigaddset(&prof, SIGPROF);
    signal(SIGPROF, count);
    for (unsigned call = 0; call < sizeof calls / sizeof *calls; call++) {
        int lost[WAYS] = {0};
        send = calls[call].send;
        for (int way = 0; way < WAYS; way++) {
            for (int i = 0; i < times[way]; i++) {
                came = 0;
                again = way == IN_HANDLER;
                if (way == BLOCKED) sigprocmask(SIG_BLOCK, &prof, NULL);
                if (way == BY_NUMBER) syscall(SYS_rt_sigprocmask, SIG_BLOCK, &word, NULL, 8L);
                if (way != OPEN) work(20000);
                send();
                if (way == BLOCKED) sigprocmask(SIG_UNBLOCK, &prof, NULL);
                if (way == BY_NUMBER) syscall(SYS_rt_sigprocmask, SIG_UNBLOCK, &word, NULL, 8L);
                lost[way] += came != 1 + (way == IN_HANDLER);
            }
        }
        printf("%s: lost %d %d %d %d\n", calls[call].name, lost[OPEN], lost[BLOCKED],
               lost[BY_NUMBER], lost[IN_HANDLER]);
    }
    return 0;
}
