/* What sigaltstack(2) answers and does, in threads, in handlers, after jumps, in children; and on which stack
 * handlers run. Prints each answer; a sample must not change one. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#ifndef SS_AUTODISARM
#define SS_AUTODISARM (1U << 31)
#endif
enum { SIZE = 65536 };
static char stacks[3][SIZE] __attribute__((aligned(64)));
static volatile unsigned long sink;
__attribute__((noinline)) static void burn(unsigned long n) {
    unsigned long sum = 0;
    for (unsigned long i = 0; i < n; i++) sum += i ^ (sum >> 3);
    sink += sum;
}
static const char *name(const void *at) {
    static const char *const names[] = {"first", "second", "third"};
    for (int i = 0; i < 3; i++)
        if ((char *)at >= stacks[i] && (char *)at < stacks[i] + SIZE) return names[i];
    return at ? "own" : "none";
}
static void tell(const char *where) {
    stack_t now;
    char here;
    int result = sigaltstack(NULL, &now);
    printf("%s: %d, %s of %zu, flags %x; on %s\n", where, result, name(now.ss_sp), now.ss_size,
           (unsigned)now.ss_flags, name(&here));
    burn(3000000);
}
static int set(int number, unsigned flags, size_t size) {
    stack_t wanted = {.ss_sp = stacks[number], .ss_size = size, .ss_flags = (int)flags};
    errno = 0;
    int result = sigaltstack(&wanted, NULL);
    printf("set %s %x %zu: %d %s\n", name(stacks[number]), flags, size, result,
           errno ? strerror(errno) : "");
    return result;
}
static volatile int deeper, changes;
static void handler(int signal, siginfo_t *info, void *context) {
    ucontext_t *interrupted = context;
    (void)interrupted;
    tell(signal == SIGUSR1 ? "USR1" : "USR2");
    if (info->si_pid != getpid()) printf("from another\n");
    if (changes) set(2, 0, SIZE);
    if (deeper) {
        deeper = 0;
        raise(SIGUSR2);
        tell("USR1 again");
    }
}
static sigjmp_buf back;
static void leave(int signal) {
    (void)signal;
    tell("leaves");
    siglongjmp(back, 1);
}
static void handle(int signal, int flags) {
    struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO | flags}, old, now;
    sigemptyset(&action.sa_mask);
    sigaddset(&action.sa_mask, SIGPROF);
    sigaddset(&action.sa_mask, SIGHUP);
    sigaction(signal, &action, &old);
    sigaction(signal, NULL, &now);
    printf("handler: %d, flags %x, before %d, masks %d%d%d\n", now.sa_sigaction == handler,
           (unsigned)now.sa_flags & ~0x04000000U,
           old.sa_handler == SIG_DFL ? 0 : old.sa_sigaction == handler ? 1 : 2,
           sigismember(&now.sa_mask, SIGPROF), sigismember(&now.sa_mask, SIGHUP),
           sigismember(&now.sa_mask, SIGINT));
}
static void *in_thread(void *argument) {
    tell("thread");
    raise(SIGUSR1);
    set(1, 0, SIZE);
    raise(SIGUSR1);
    tell("thread");
    return argument;
}
static int in_clone(void *argument) {
    tell("clone");
    (void)argument;
    raise(SIGUSR1);
    return 0;
}
int main(void) {
    setvbuf(stdout, NULL, _IONBF, 0);
    tell("start");
    handle(SIGUSR1, SA_ONSTACK);
    raise(SIGUSR1);
    tell("after");
    set(0, 0, 100);
    set(0, 5, SIZE);
    set(0, 0, SIZE);
    set(0, SS_DISABLE, 0);
    changes = 1;
    raise(SIGUSR1);
    changes = 0;
    tell("set in a handler");
    set(0, 0, SIZE);
    set(0, SS_ONSTACK, SIZE);
    raise(SIGUSR1);
    handle(SIGUSR2, 0);
    raise(SIGUSR2);
    deeper = 1;
    raise(SIGUSR1);
    handle(SIGUSR2, SA_ONSTACK | SA_NODEFER);
    deeper = 1;
    raise(SIGUSR1);
    changes = 1;
    raise(SIGUSR1);
    changes = 0;
    tell("unchanged");
    void (*before)(int) = signal(SIGUSR2, leave);
    printf("signal: before %d\n", before == (void (*)(int))handler);
    struct sigaction action = {.sa_handler = leave, .sa_flags = SA_ONSTACK | SA_RESETHAND}, now;
    sigaction(SIGUSR2, &action, NULL);
    if (sigsetjmp(back, 1) == 0) raise(SIGUSR2);
    tell("left");
    sigaction(SIGUSR2, NULL, &now);
    printf("reset %d\n", now.sa_handler == SIG_DFL);
    set(1, SS_AUTODISARM, SIZE);
    tell("disarms");
    raise(SIGUSR1);
    tell("disarms");
    pthread_t thread;
    pthread_create(&thread, NULL, in_thread, NULL);
    pthread_join(thread, NULL);
    set(0, 0, SIZE);
    pid_t child = fork();
    if (child == 0) {
        tell("child");
        raise(SIGUSR1);
        _exit(0);
    }
    waitpid(child, NULL, 0);
    child = vfork();
    if (child == 0) {
        set(1, 0, SIZE);
        raise(SIGUSR1);
        _exit(0);
    }
    waitpid(child, NULL, 0);
    tell("after vfork");
    child = (pid_t)syscall(SYS_fork);
    if (child == 0) {
        handle(SIGUSR2, SA_ONSTACK);
        raise(SIGUSR2);
        raise(SIGUSR1);
        _exit(0);
    }
    waitpid(child, NULL, 0);
    child = clone(in_clone, stacks[2] + SIZE, CLONE_VM | SIGCHLD, NULL);
    waitpid(child, NULL, 0);
    stack_t off = {.ss_flags = SS_DISABLE};
    printf("off %d\n", sigaltstack(&off, NULL));
    tell("off");
    raise(SIGUSR1);
    struct sigaction ignored = {.sa_handler = SIG_IGN, .sa_flags = SA_ONSTACK};
    sigaction(SIGUSR1, &ignored, &now);
    printf("ignored, before %d\n", now.sa_sigaction == handler);
    raise(SIGUSR1);
    return 0;
}
