/* Calls that a program makes by syscall(2), with the kernel's structures; the argument names one. Each says what it has
 * seen. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { STACK = 65536 };

static void work_ms(long ms) {
    struct timespec begin, now;
    volatile unsigned sum = 0;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
    do {
        for (unsigned i = 0; i < 10000; i++) sum += i;
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    } while ((now.tv_sec - begin.tv_sec) * 1000 + (now.tv_nsec - begin.tv_nsec) / 1000000 < ms);
}

static char *self, *stack;
static volatile sig_atomic_t seen, on_stack;
static void count(int signal) {
    char here;
    (void)signal;
    seen++;
    on_stack += &here >= stack && &here < stack + STACK;
}

static int is_blocked(int signal) {
    sigset_t now;
    pthread_sigmask(SIG_BLOCK, NULL, &now);
    return sigismember(&now, signal);
}

static void alternate_stack(void) {
    stack = malloc(STACK);
    stack_t own = {.ss_sp = stack, .ss_size = STACK}, old = {0};
    struct sigaction action = {.sa_handler = count, .sa_flags = SA_ONSTACK};
    printf("stack: %ld", syscall(SYS_sigaltstack, &own, &old));
    printf(" %d", old.ss_flags == SS_DISABLE);
    sigaction(SIGUSR1, &action, NULL);
    work_ms(20);
    raise(SIGUSR1);
    work_ms(20);
    syscall(SYS_sigaltstack, NULL, &old);
    printf(" %d %d %d", seen, on_stack, old.ss_sp == stack);
    sigaltstack(NULL, &old);
    printf(" %d", old.ss_sp == stack);
    printf(" %ld", syscall(SYS_sigaltstack, (void *)8, NULL));
    /* What fails answers nothing. */
    old = (stack_t){.ss_sp = stack + 1, .ss_size = 1};
    printf(" %ld", syscall(SYS_sigaltstack, &old, &old));
    printf(" %d", old.ss_sp == stack + 1);
    /* What cannot be answered is set all the same. */
    own = (stack_t){.ss_flags = SS_DISABLE};
    printf(" %ld", syscall(SYS_sigaltstack, &own, (void *)8));
    sigaltstack(NULL, &old);
    printf(" %d\n", old.ss_flags == SS_DISABLE);
}

static void pending(void) {
    unsigned long waits = 0;
    sigset_t set;
    sigfillset(&set);
    sigprocmask(SIG_BLOCK, &set, NULL);
    work_ms(20);
    syscall(SYS_rt_sigpending, &waits, 8L);
    printf("pending: %lx\n", waits);
}

static void executes(int by_file, char **environment) {
    char *words[] = {self, "executed", NULL};
    work_ms(20);
    if (by_file) return (void)syscall(SYS_execveat, open(self, O_PATH | O_CLOEXEC), "", words, environment, AT_EMPTY_PATH);
    char *wrong[] = {"ONLY=this", (char *)8, NULL};
    int failed = syscall(SYS_execve, "no such file", words, environment) == -1 && errno == ENOENT;
    failed += syscall(SYS_execve, self, words, wrong) == -1 && errno == EFAULT;
    failed += syscall(SYS_execve, (char *)8, words, environment) == -1 && errno == EFAULT;
    printf("failed: %d\n", failed);
    fflush(stdout);
    syscall(SYS_execve, self, words, environment);
}

static void closes(void) {
    work_ms(10);
    syscall(SYS_close_range, 3, ~0U, 0);
    for (int file = 3; file < 1000; file++) syscall(SYS_close, file);
    work_ms(20);
    printf("closed: %d", open("/dev/null", O_RDONLY));
    for (int file = 3; file < 1000; file++) syscall(SYS_close, file);
    work_ms(20);
    printf(" %d\n", open("/dev/null", O_RDONLY));
}

static void forks(void) {
    int status = 0;
    work_ms(10);
    fflush(stdout);
    pid_t child = syscall(SYS_fork);
    if (child == 0) {
        work_ms(20);
        _exit(3);
    }
    waitpid(child, &status, 0);
    printf("forked: %x\n", status);
}

static void limits(void) {
    struct rlimit limit, again;
    for (int file = 3; file < 1000; file++) syscall(SYS_close, file);
    syscall(SYS_prlimit64, 0, RLIMIT_NOFILE, NULL, &limit);
    getrlimit(RLIMIT_NOFILE, &again);
    printf("limited: %d", limit.rlim_cur == again.rlim_cur);
    limit.rlim_cur = 5;
    syscall(SYS_prlimit64, 0, RLIMIT_NOFILE, &limit, NULL);
    work_ms(20);
    printf(" %d\n", open("/dev/null", O_RDONLY));
}

int main(int count, char **words) {
    static char *empty[] = {"ONLY=this", NULL};
    const char *way = count > 1 ? words[1] : "";
    self = words[0];
    if (!strcmp(way, "stack")) alternate_stack();
    else if (!strcmp(way, "pending")) pending();
    else if (!strcmp(way, "executes")) executes(0, environ);
    else if (!strcmp(way, "executes_file")) executes(1, environ);
    else if (!strcmp(way, "executes_with_little")) executes(0, empty);
    else if (!strcmp(way, "executed")) printf("executed: %d\n", is_blocked(SIGPROF));
    else if (!strcmp(way, "closes")) closes();
    else if (!strcmp(way, "forks")) forks();
    else if (!strcmp(way, "limits")) limits();
    else work_ms(20), syscall(!strcmp(way, "exits") ? SYS_exit_group : SYS_exit, 7);
    return 0;
}
