/* Children restrict their system calls and go on with the profiling signal: they have set a handler
 * for it, ignored it, blocked it (also in another thread), or left it as it was. Says what each
 * finds, and how it ends. Of system calls, those stay allowed that this program makes, and those by
 * which a process ends itself by a signal. What else is made ends the child. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "allowed_calls.h"

static volatile unsigned long result;
static char text[1000];
static int ends[2], pid;

static void work(void) {
    unsigned long value = 1;
    for (int step = 0; step < 10000000; step++) value = value * 6364136223846793005UL + 1;
    result = value;
}

static void say(const char *word) { strcat(text, word); }

static void out(void) {
    say("\n");
    if (write(1, text, strlen(text)) < 0) _exit(9);
    text[0] = 0;
}

static void filter(unsigned flags) {
    struct sock_fprog *program = ALLOW_ONLY(
        SYS_write, SYS_read, SYS_exit_group, SYS_rt_sigreturn, SYS_rt_sigaction, SYS_tgkill, SYS_getpid,
        SYS_gettid, SYS_rt_sigprocmask, SYS_rt_sigpending, SYS_rt_tgsigqueueinfo);
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (flags) syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, program);
    else prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, program);
}

static void send(int signal) { syscall(SYS_tgkill, pid, pid, signal); }

/* The first SIGUSR1 sends the profiling signal, which waits until it is over. */
static void one(int signal) {
    static int is_sent;
    say(signal == SIGUSR1 ? "1" : "2");
    if (signal == SIGUSR1 && !is_sent++) send(SIGPROF);
    say(".");
}

/* SIGUSR1 waits until it is over, SIGUSR2 does not. */
static void handler(int signal) {
    (void)signal;
    say("(");
    send(SIGUSR1);
    send(SIGUSR2);
    say(")");
}

static void brief(int signal) { (void)signal; }

static const char *name(void *action) {
    return action == (void *)handler || action == (void *)brief ? "handler"
        : action == (void *)SIG_DFL ? "default" : action == (void *)SIG_IGN ? "ignored" : "another";
}

static void ask(int signal) {
    struct sigaction found;
    sigaction(signal, NULL, &found);
    say(name((void *)found.sa_handler));
    if (found.sa_flags & SA_RESTART) say(" restarts");
    if (found.sa_flags & (SA_SIGINFO | SA_ONSTACK)) say(" with what nobody asked for");
    if (sigismember(&found.sa_mask, SIGUSR1)) say(" masks USR1");
    say(sigismember(&found.sa_mask, SIGUSR2) ? " masks USR2, " : ", ");
}

static void child(char what) {
    struct sigaction action = {.sa_handler = handler};
    sigset_t set, found;
    sigemptyset(&set);
    sigaddset(&set, SIGPROF);
    sigaddset(&action.sa_mask, SIGUSR1);
    pid = getpid();
    if (what == 'r') action.sa_handler = brief;
    else if (what == 'h') action.sa_flags = SA_RESTART;
    if (what == 'h' || what == 'r') sigaction(SIGPROF, &action, NULL);
    if (what == 'r' && write(ends[1], "", 1) < 0) _exit(9);
    if (what == 'i') signal(SIGPROF, SIG_IGN);
    if (what == 'b') sigprocmask(SIG_BLOCK, &set, NULL);
    work();
    filter(0);
    work();
    ask(SIGPROF);
    ask(SIGTRAP);
    if (what == 'r') {
        /* The parent sends the signal until this ends. */
        out();
        ssize_t count = read(ends[0], text, 1);
        say(count < 0 && errno == EINTR ? "a read fails with EINTR" : "a read goes on");
        out();
        _exit(3);
    }
    if (what == 'b') {
        send(SIGPROF);
        sigpending(&found);
        say(sigismember(&found, SIGPROF) ? "pending, " : "gone, ");
        sigprocmask(SIG_SETMASK, NULL, &found);
        say(sigismember(&found, SIGPROF) ? "blocked" : "not blocked");
        out();
        _exit(4);
    }
    if (what == 'd') out();
    send(SIGPROF);
    send(SIGPROF);
    say(", and before: ");
    say(name((void *)signal(SIGPROF, brief)));
    send(SIGPROF);
    say(", after: ");
    say(name((void *)signal(SIGPROF, SIG_IGN)));
    out();
    _exit(5);
}

static volatile int step, count;

static void counted(int signal) { (void)signal; count++; }

/* Blocks the signal before another thread restricts its calls, and unblocks it behind that. */
static void *thread(void *what) {
    sigset_t set, trap, found;
    sigemptyset(&set);
    sigaddset(&set, SIGPROF);
    sigemptyset(&trap);
    sigaddset(&trap, SIGTRAP);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    pthread_sigmask(SIG_BLOCK, &trap, NULL);
    step = 1;
    while (step != 2) continue;
    for (int i = 0; i < 2; i++) {
        syscall(SYS_tgkill, pid, gettid(), SIGPROF);
        syscall(SYS_tgkill, pid, gettid(), SIGTRAP);
    }
    sigpending(&found);
    say(sigismember(&found, SIGPROF) && sigismember(&found, SIGTRAP) ? "pending, " : "gone, ");
    pthread_sigmask(SIG_BLOCK, NULL, &found);
    say(sigismember(&found, SIGPROF) && sigismember(&found, SIGTRAP) ? "blocked" : "not blocked");
    if (*(char *)what == 'u') out();
    pthread_sigmask(SIG_UNBLOCK, &set, &found);
    say(sigismember(&found, SIGPROF) ? ", was blocked: " : ", was not: ");
    say(count == 1 ? "one, " : "none, ");
    syscall(SYS_tgkill, pid, gettid(), SIGPROF);
    say(count == 2 ? "two" : "no second");
    out();
    _exit(2);
}

static void beside(const char *what) {
    pthread_t id;
    pid = getpid();
    if (*what == 't') signal(SIGPROF, counted);
    if (pthread_create(&id, NULL, thread, (void *)what)) _exit(9);
    work();
    while (step != 1) continue;
    filter(SECCOMP_FILTER_FLAG_TSYNC);
    step = 2;
    for (;;) work();
}

int main(void) {
    struct sigaction action = {.sa_handler = one};
    sigaction(SIGUSR2, &action, NULL);
    sigaddset(&action.sa_mask, SIGPROF);
    sigaction(SIGUSR1, &action, NULL);
    for (const char *what = "hribdtu"; *what; what++) {
        int status;
        if (pipe(ends)) return 9;
        pid_t process = fork();
        if (process == 0 && *what >= 't') beside(what);
        if (process == 0) child(*what);
        if (*what == 'r' && read(ends[0], text, 1) < 0) return 9;
        while (waitpid(process, &status, *what == 'r' ? WNOHANG : 0) == 0) {
            usleep(1000);
            kill(process, SIGPROF);
        }
        close(ends[0]);
        close(ends[1]);
        if (WIFSIGNALED(status)) printf("%c: killed by %s\n", *what, sigabbrev_np(WTERMSIG(status)));
        else printf("%c: %d\n", *what, WEXITSTATUS(status));
        fflush(stdout);
    }
    return 0;
}
