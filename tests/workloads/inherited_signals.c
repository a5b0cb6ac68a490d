/* Starts itself in each way with SIGPROF ignored, blocked, both, or neither; the child says what it finds,
 * sends itself the signal, and ends. So does one without an environment, in which csprof is not. */
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;
static char *const me = "/proc/self/exe";
static char path[4096];
static char *arguments[] = {path, "child", NULL};
static char *nothing[] = {NULL};

static volatile unsigned long sink;
static void burn(void) {
    for (unsigned long i = 0; i < 3000000; i++) sink += i * i;
}

static int child(void) {
    struct sigaction action;
    sigset_t mask;
    sigaction(SIGPROF, NULL, &action);
    sigprocmask(SIG_BLOCK, NULL, &mask);
    int blocked = sigismember(&mask, SIGPROF), waits;
    sigpending(&mask);
    waits = sigismember(&mask, SIGPROF);
    printf("%s%s%s", action.sa_handler == SIG_IGN ? " ignored" : " default", blocked ? " blocked" : "",
           waits ? " and waits" : "");
    fflush(stdout);
    burn();
    raise(SIGPROF);
    return 0;
}

static void wait_for(pid_t pid) {
    int status = 0;
    waitpid(pid, &status, 0);
    if (WIFSIGNALED(status)) printf(" %d", WTERMSIG(status));
    fflush(stdout);
}
static void by_exec(char *const *environment) {
    pid_t pid = fork();
    if (pid == 0) {
        execve("/nowhere", arguments, environment);
        execve(path, arguments, environment);
        _exit(1);
    }
    wait_for(pid);
}
/* With the signal sent before. */
static void while_it_waits(void) {
    pid_t pid = fork();
    if (pid == 0) {
        raise(SIGPROF);
        burn();
        execv(path, arguments);
        _exit(1);
    }
    wait_for(pid);
}
static void by_vfork(void) {
    pid_t pid = vfork();
    if (pid == 0) {
        execv("/nowhere", arguments);
        execv(path, arguments);
        _exit(1);
    }
    wait_for(pid);
}
/* As runtimes do that block all signals around it. */
static void by_masked_vfork(void) {
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    pid_t pid = vfork();
    if (pid == 0) {
        pthread_sigmask(SIG_SETMASK, &before, NULL);
        execv(path, arguments);
        _exit(1);
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    wait_for(pid);
}
/* As vfork, but by other names: the child has a stack of its own. */
static int replace(void *nothing) {
    (void)nothing;
    execv(path, arguments);
    _exit(1);
}
static void return_there(void) { replace(NULL); }
static void by_clone(int by_syscall) {
    static char stack[1 << 16];
    void *top = stack + sizeof stack;
    void (**there)(void) = (void (**)(void))top - 2;
    *there = return_there;
    int flags = CLONE_VM | CLONE_VFORK | SIGCHLD;
    wait_for(by_syscall ? (pid_t)syscall(SYS_clone, (long)flags, there, NULL, NULL, 0L)
                        : clone(replace, top, flags, NULL));
}
static void by_spawn(char *const *environment) {
    pid_t pid;
    if (posix_spawn(&pid, path, NULL, NULL, arguments, environment) == 0) wait_for(pid);
}
static void by_popen(void) {
    char command[5000], said[200] = "";
    snprintf(command, sizeof command, "exec %s child", path);
    FILE *stream = popen(command, "r");
    fgets(said, sizeof said, stream);
    printf("%s", said);
    int status = pclose(stream);
    if (WIFSIGNALED(status)) printf(" %d", WTERMSIG(status));
    fflush(stdout);
}
static void by_system(void) {
    char command[5000];
    snprintf(command, sizeof command, "exec %s child", path);
    int status = system(command);
    if (WIFSIGNALED(status)) printf(" %d", WTERMSIG(status));
    fflush(stdout);
}

int main(int count, char **given) {
    if (count > 1) return child();
    if (readlink(me, path, sizeof path - 1) < 0) return 1;
    for (int state = 0; state < 4; state++) {
        sigset_t prof;
        sigemptyset(&prof);
        sigaddset(&prof, SIGPROF);
        signal(SIGPROF, state & 1 ? SIG_IGN : SIG_DFL);
        sigprocmask(state & 2 ? SIG_BLOCK : SIG_UNBLOCK, &prof, NULL);
        printf("%d:", state);
        fflush(stdout);
        burn();
        by_exec(environ);
        by_exec(nothing);
        by_vfork();
        by_masked_vfork();
        by_clone(0);
        by_clone(1);
        by_spawn(environ);
        by_spawn(nothing);
        by_popen();
        /* With the signal ignored, it is the default action that csprof leaves to this one. */
        if (!(state & 1)) by_system();
        if (state == 2) while_it_waits();
        burn();
        printf("\n");
        fflush(stdout);
    }
    (void)given;
    return 0;
}
