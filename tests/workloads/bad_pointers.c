/* Calls with pointers that lead nowhere, or to a page that cannot be read: the kernel says EFAULT. Each in a child, which
 * may end. */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

extern char **environ;
static void *bad;

static void show(const char *what, int (*call)(void)) {
    int status;
    pid_t child;
    fflush(stdout);
    child = fork();
    if (!child) {
        errno = 0;
        int result = call(), error = errno;
        printf(" %s %d%s,", what, result, error == EFAULT ? "" : " with another error");
        fflush(stdout);
        _exit(0);
    }
    waitpid(child, &status, 0);
    if (status) printf(" %s ends by %d,", what, WTERMSIG(status));
}

static struct timespec soon = {0, 1000};
static struct epoll_event event;
static int files;

#define CALL(name, ...) \
    static int name##_(void) { return __VA_ARGS__; }
CALL(ppoll, ppoll(NULL, 0, &soon, bad))
CALL(pselect, pselect(0, NULL, NULL, NULL, &soon, bad))
CALL(epoll_pwait, epoll_pwait(files, &event, 1, 10, bad))
CALL(sigsuspend, sigsuspend(bad))
CALL(sigwaitinfo, sigwaitinfo(bad, NULL))
CALL(sigtimedwait, sigtimedwait(bad, NULL, &soon))
CALL(sigwait, sigwait(bad, (int *)bad))
CALL(signalfd, signalfd(-1, bad, 0))
CALL(sigaltstack, sigaltstack(bad, NULL))
CALL(sigaltstack_told, sigaltstack(NULL, bad))
CALL(execve, execve(bad, NULL, NULL))
CALL(execve_arguments, execve("/bin/true", bad, environ))
CALL(execve_environment, execve("/bin/true", (char *[]){"true", NULL}, bad))
CALL(execve_variable, execve("/bin/true", (char *[]){"true", NULL}, (char *[]){bad, NULL}))
CALL(execv, execv(bad, bad))
CALL(posix_spawn, posix_spawn(NULL, bad, NULL, NULL, (char *[]){"true", NULL}, environ))
CALL(posix_spawn_environment, posix_spawn(NULL, "/bin/true", NULL, NULL, (char *[]){"true", NULL}, bad))

int main(void) {
    void *pointers[] = {(void *)16, mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)};
    files = epoll_create1(0);
    for (int i = 0; i < 2; i++) {
        bad = pointers[i];
#define SHOW(name) show(#name, name##_)
        SHOW(ppoll);
        SHOW(pselect);
        SHOW(epoll_pwait);
        SHOW(sigsuspend);
        SHOW(sigwaitinfo);
        SHOW(sigtimedwait);
        SHOW(sigwait);
        SHOW(signalfd);
        SHOW(sigaltstack);
        SHOW(sigaltstack_told);
        SHOW(execve);
        SHOW(execve_arguments);
        SHOW(execve_environment);
        SHOW(execve_variable);
        SHOW(execv);
        SHOW(posix_spawn);
        SHOW(posix_spawn_environment);
        printf("\n");
    }
    errno = 0;
    int result = setcontext((void *)16);
    printf("setcontext %d%s\n", result, errno == EFAULT ? "" : " with another error");
    return 0;
}
