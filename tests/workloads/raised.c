/* Sends itself SIGPROF by each call for it, with the signal open, blocked, and blocked since its
 * handler runs, and says how often the handler did not run as often as it was sent, or was told
 * something else. Twice while it is blocked it comes once. With "refused" a filter lets the kernel
 * refuse it, which each call says in its way. */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { VALUE = 0x7eadbeef };
static int by_raise(void) { return raise(SIGPROF); }
static int by_tgkill(void) { return tgkill(getpid(), gettid(), SIGPROF); }
static int by_number(void) { return syscall(SYS_tgkill, getpid(), gettid(), SIGPROF); }
static int by_older_number(void) { return syscall(SYS_tkill, gettid(), SIGPROF); }
static int by_queue(void) {
    return pthread_sigqueue(pthread_self(), SIGPROF, (union sigval){.sival_int = VALUE});
}
static const struct {
    const char *name;
    int (*send)(void);
} calls[] = {
    {"raise", by_raise},
    {"tgkill", by_tgkill},
    {"SYS_tgkill", by_number},
    {"SYS_tkill", by_older_number},
    {"pthread_sigqueue", by_queue},
};
enum { CALLS = sizeof calls / sizeof *calls };

static volatile sig_atomic_t came, again, wrong;
static int (*send)(void);
static void work(int times) {
    for (volatile int i = 0; i < times; i++) continue;
}
static void count(int signal, siginfo_t *info, void *context) {
    (void)context;
    came += signal == SIGPROF;
    int is_queued = send == by_queue;
    wrong += info->si_signo != SIGPROF || info->si_code != (is_queued ? SI_QUEUE : SI_TKILL);
    wrong += info->si_pid != getpid() || info->si_uid != getuid();
    wrong += is_queued && info->si_value.sival_int != VALUE;
    if (again) {
        again = 0;
        work(200000);
        send();
    }
}

static void mask_by_number(int how) {
    unsigned long word = 1UL << (SIGPROF - 1);
    syscall(SYS_rt_sigprocmask, how, &word, NULL, 8L);
}

static void refuse(long number) {
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog filter = {sizeof code / sizeof *code, code};
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter);
}

static void say_refusals(sigset_t *prof) {
    for (int blocked = 0; blocked < 2; blocked++) {
        if (blocked) sigprocmask(SIG_BLOCK, prof, NULL);
        for (unsigned call = 0; call < CALLS; call++) {
            errno = came = 0;
            int result = calls[call].send();
            printf("%s: %d, error %d, came %d\n", calls[call].name, result, errno, (int)came);
        }
    }
}

int main(int count_of_words, char **words) {
    enum { OPEN, BLOCKED, BY_NUMBER, TWICE, IN_HANDLER, WAYS };
    static const int times[WAYS] = {40000, 5000, 5000, 2000, 100};
    struct sigaction action = {.sa_sigaction = count, .sa_flags = SA_SIGINFO};
    sigset_t prof;
    sigemptyset(&prof);
    sigaddset(&prof, SIGPROF);
    sigaction(SIGPROF, &action, NULL);
    if (count_of_words > 1) {
        /* As a launcher may have left it: the program is executed below the filter. */
        if (strcmp(words[1], "refused") == 0) {
            refuse(SYS_tgkill);
            refuse(SYS_tkill);
            refuse(SYS_rt_tgsigqueueinfo);
            execl("/proc/self/exe", words[0], "below", NULL);
        }
        say_refusals(&prof);
        return 0;
    }
    for (unsigned call = 0; call < CALLS; call++) {
        int lost[WAYS] = {0};
        send = calls[call].send;
        wrong = 0;
        for (int way = 0; way < WAYS; way++) {
            for (int i = 0; i < times[way]; i++) {
                came = 0;
                again = way == IN_HANDLER;
                if (way == BLOCKED) sigprocmask(SIG_BLOCK, &prof, NULL);
                if (way == BY_NUMBER || way == TWICE) mask_by_number(SIG_BLOCK);
                if (way != OPEN) work(20000);
                send();
                if (way == TWICE) send();
                if (way == BLOCKED) sigprocmask(SIG_UNBLOCK, &prof, NULL);
                if (way == BY_NUMBER || way == TWICE) mask_by_number(SIG_UNBLOCK);
                lost[way] += came != 1 + (way == IN_HANDLER);
            }
        }
        printf("%s: lost %d %d %d %d %d, wrong %d\n", calls[call].name, lost[OPEN], lost[BLOCKED],
               lost[BY_NUMBER], lost[TWICE], lost[IN_HANDLER], (int)wrong);
    }
    return 0;
}
