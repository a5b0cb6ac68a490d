/* Actions of signals, set by syscall(2) with the kernel's structure, as Chromium does in the children that it makes:
 * what is told of them, a handler of the program's for the profiling signal, a child in which all of them have their
 * defaults, which works for a while and executes the program, and children that do so on the program's memory. */
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct kernel_action {
    void (*handler)(int);
    unsigned long flags;
    void (*restorer)(void);
    unsigned long mask;
};

static long set(int signal, const struct kernel_action *new, struct kernel_action *old) {
    return syscall(SYS_rt_sigaction, signal, new, old, 8L);
}

static void work_ms(long ms) {
    struct timespec begin, now;
    volatile unsigned sum = 0;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &begin);
    do {
        for (unsigned i = 0; i < 10000; i++) sum += i;
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    } while ((now.tv_sec - begin.tv_sec) * 1000 + (now.tv_nsec - begin.tv_nsec) / 1000000 < ms);
}

static volatile sig_atomic_t seen;
static void count(int signal) {
    (void)signal;
    seen++;
}

static const char *told(int signal) {
    static char text[100];
    struct kernel_action old;
    struct sigaction by_library;
    memset(&old, 0x55, sizeof old);
    long result = set(signal, NULL, &old);
    sigaction(signal, NULL, &by_library);
    const char *what = old.handler == SIG_DFL ? "default" : old.handler == SIG_IGN ? "ignored" : "handled";
    sprintf(text, "%ld %s%s mask %lx%s", result, what, old.handler == count ? " here" : "", old.mask,
            by_library.sa_handler == old.handler ? "" : ", but told something else");
    return text;
}

static int is_blocked(int signal) {
    sigset_t now;
    sigprocmask(SIG_BLOCK, NULL, &now);
    return sigismember(&now, signal);
}

/* A child that has the program's memory, but actions and a mask of its own. */
static enum { BY_NUMBER, BY_SIGACTION, BY_SIGNAL, WAYS } way;
static int was_handled;
static int on_this_memory(void *program) {
    struct kernel_action old, by_default = {SIG_DFL, 0, NULL, 0};
    struct sigaction old_by_library, default_by_library = {.sa_handler = SIG_DFL};
    if (way == BY_NUMBER) was_handled = set(SIGPROF, &by_default, &old) == 0 && old.handler == count;
    else if (way == BY_SIGACTION) sigaction(SIGPROF, &default_by_library, &old_by_library), was_handled = old_by_library.sa_handler == count;
    else was_handled = signal(SIGPROF, SIG_DFL) == count;
    syscall(SYS_execve, program, (char *[]){program, "executed", NULL}, environ);
    _exit(1);
}

static void children_on_this_memory(char *program) {
    static char stack[65536] __attribute__((aligned(16)));
    struct sigaction handled = {.sa_handler = count};
    sigset_t mask;
    sigemptyset(&mask);
    sigaddset(&mask, SIGPROF);
    sigaction(SIGPROF, &handled, NULL);
    for (way = BY_NUMBER; way < WAYS; way++) {
        int status = 0;
        sigprocmask(SIG_BLOCK, &mask, NULL);
        pid_t child = clone(on_this_memory, stack + sizeof stack, CLONE_VM | SIGCHLD, program);
        waitpid(child, &status, 0);
        sigprocmask(SIG_UNBLOCK, &mask, NULL);
        seen = 0;
        raise(SIGPROF);
        work_ms(20);
        printf("child on this memory: %x, was handled: %d, seen: %d\n", status, was_handled, (int)seen);
        fflush(stdout);
    }
}

int main(int words, char **word) {
    if (words > 1) {
        work_ms(20);
        printf("executed: %s, blocked: %d\n", told(SIGPROF), is_blocked(SIGPROF));
        return 0;
    }
    struct sigaction handled = {.sa_handler = count};
    struct kernel_action ours, by_default = {SIG_DFL, 0, NULL, 0}, ignored = {SIG_IGN, 0, NULL, 0};
    work_ms(20);
    printf("SIGPROF: %s\n", told(SIGPROF));
    /* The restorer is the C library's. */
    sigaction(SIGUSR1, &handled, NULL);
    set(SIGUSR1, NULL, &ours);
    ours.mask = 1UL << (SIGUSR2 - 1);
    for (int signal = SIGUSR1;; signal = SIGPROF) {
        printf("set: %ld\n", set(signal, &ours, NULL));
        printf("%d: %s\n", signal, told(signal));
        raise(signal);
        if (signal == SIGPROF) break;
    }
    printf("seen: %d\n", (int)seen);
    work_ms(20);
    struct kernel_action both = ignored;
    printf("ignored: %ld", set(SIGPROF, &both, &both));
    printf(", before %s\n", both.handler == count && both.restorer && both.mask == ours.mask ? "handled" : "something else");
    raise(SIGPROF);
    printf("SIGPROF: %s, seen: %d\n", told(SIGPROF), (int)seen);
    long result;
    for (int number = -1; number <= 67; number += 17) printf(" %ld", set(number, NULL, &ours));
    result = set(SIGPROF, (void *)8, NULL);
    printf(" %ld %d", result, errno == EFAULT);
    result = set(SIGPROF, NULL, (void *)8);
    printf(" %ld %d", result, errno == EFAULT);
    result = set(SIGPROF, &ignored, (void *)8);
    printf(" %ld %d", result, errno == EFAULT);
    work_ms(20);
    result = syscall(SYS_rt_sigaction, SIGPROF, NULL, &ours, 4L);
    printf(" %ld %d", result, errno == EINVAL);
    result = set(SIGKILL, &by_default, NULL);
    printf(" %ld %d\n", result, errno == EINVAL);
    /* Those that the C library keeps for itself the kernel has, too. */
    printf("kept: %ld\n", set(33, NULL, &ours));
    fflush(stdout);
    set(SIGPROF, &by_default, NULL);
    for (int round = 0; round < 3; round++) {
        int status = 0;
        pid_t child = fork();
        if (child == 0) {
            sigset_t all, before;
            sigfillset(&all);
            sigprocmask(SIG_SETMASK, &all, &before);
            for (int signal = 1; signal < 65; signal++) {
                struct kernel_action old;
                if (set(signal, NULL, &old) == 0 && old.handler != SIG_IGN) {
                    old.handler = SIG_DFL;
                    set(signal, &old, NULL);
                }
            }
            sigprocmask(SIG_SETMASK, &before, NULL);
            work_ms(20);
            syscall(SYS_execve, word[0], (char *[]){word[0], "executed", NULL}, environ);
            _exit(1);
        }
        waitpid(child, &status, 0);
        printf("child: %x\n", status);
        fflush(stdout);
    }
    children_on_this_memory(word[0]);
    return 0;
}
