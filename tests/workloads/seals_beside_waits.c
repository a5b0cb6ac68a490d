/* Threads wait, and another one installs a filter that allows all system calls. Then they say whether
 * SIGPROF is blocked, and whether it comes. */
#define _GNU_SOURCE
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <unistd.h>

static int ends[2];
static volatile sig_atomic_t sealed;
static __thread volatile sig_atomic_t came;
static void count(int signal) { came += signal == SIGPROF; }

static volatile unsigned long sink;
static void work(void) {
    for (unsigned long i = 0; i < 30000000; i++) sink = i;
}

static void *waiter(void *reads) {
    char bytes[8192];
    sigset_t now;
    work();
    if (reads) {
        if (read(ends[0], bytes, sizeof bytes) != 1) return "failed";
    } else {
        /* Before the handler is there, the signal would kill. */
        do usleep(300000);
        while (!sealed);
    }
    pthread_sigmask(SIG_BLOCK, NULL, &now);
    if (sigismember(&now, SIGPROF)) return "blocked";
    pthread_kill(pthread_self(), SIGPROF);
    return came ? "open" : "does not come";
}

int main(void) {
    struct sock_filter code[] = {BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    struct sock_fprog filter = {1, code};
    struct sigaction action = {.sa_handler = count};
    pthread_t reader, sleeper;
    void *read, *slept;
    if (pipe(ends)) return 1;
    pthread_create(&reader, NULL, waiter, "");
    pthread_create(&sleeper, NULL, waiter, NULL);
    work();
    usleep(150000);
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter)) perror("filter");
    /* With a handler they would not be held. */
    sigaction(SIGPROF, &action, NULL);
    sealed = 1;
    if (write(ends[1], "", 1) != 1) return 1;
    pthread_join(reader, &read);
    pthread_join(sleeper, &slept);
    printf("read: %s, slept: %s\n", (char *)read, (char *)slept);
    return 0;
}
