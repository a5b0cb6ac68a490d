/* Functions of the program's own in front of the C library's, as runtimes have them: sigaction goes
 * on to __sigaction (Erlang), the others to what comes next in the loader's order. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern int __sigaction(int, const struct sigaction *, struct sigaction *);

static __thread int depth;

static void enter(const char *name) {
    if (depth++ > 20) {
        printf("%s: calls itself\n", name);
        exit(1);
    }
}

int sigaction(int signal, const struct sigaction *new, struct sigaction *old) {
    enter("sigaction");
    int result = __sigaction(signal, new, old);
    depth--;
    return result;
}

#define NEXT(type, name, parameters, arguments)                     \
    type name parameters {                                          \
        static type(*next) parameters;                              \
        enter(#name);                                               \
        if (!next)                                                  \
            next = (type(*) parameters)dlsym(RTLD_NEXT, #name);     \
        type result = next arguments;                               \
        depth--;                                                    \
        return result;                                              \
    }

NEXT(int, poll, (struct pollfd *files, nfds_t count, int limit), (files, count, limit))
NEXT(int, close, (int file), (file))
NEXT(int, sigprocmask, (int how, const sigset_t *new, sigset_t *old), (how, new, old))
NEXT(int, pthread_sigmask, (int how, const sigset_t *new, sigset_t *old), (how, new, old))
NEXT(void *, dlopen, (const char *path, int mode), (path, mode))
NEXT(int, execve, (const char *path, char *const argv[], char *const envp[]), (path, argv, envp))
NEXT(int, execv, (const char *path, char *const argv[]), (path, argv))
NEXT(pid_t, waitpid, (pid_t pid, int *status, int options), (pid, status, options))
NEXT(int, pthread_create,
     (pthread_t *thread, const pthread_attr_t *attributes, void *(*start)(void *), void *argument),
     (thread, attributes, start, argument))
NEXT(int, nanosleep, (const struct timespec *time, struct timespec *left), (time, left))

static volatile sig_atomic_t times;

static void count(int signal) {
    (void)signal;
    times++;
}

static void *burn(void *argument) {
    struct timespec now;
    do
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    while (now.tv_nsec < 100000000);
    return argument;
}

int main(int argc, char **argv) {
    setvbuf(stdout, NULL, _IONBF, 0);
    if (argc > 1) {
        burn(NULL);
        puts("executed");
        return 0;
    }
    struct sigaction action, old;
    memset(&action, 0, sizeof action);
    action.sa_handler = count;
    sigaction(SIGUSR1, &action, NULL);
    raise(SIGUSR1);
    signal(SIGUSR2, count);
    raise(SIGUSR2);
    printf("two signals: %d\n", (int)times);
    sigaction(SIGPROF, &action, &old);
    raise(SIGPROF);
    printf("SIGPROF: %d, before %d\n", (int)times, old.sa_handler == SIG_DFL);
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGPROF);
    sigprocmask(SIG_BLOCK, &set, NULL);
    raise(SIGPROF);
    printf("blocked: %d\n", (int)times);
    pthread_sigmask(SIG_UNBLOCK, &set, NULL);
    printf("open: %d\n", (int)times);
    printf("poll: %d\n", poll(NULL, 0, 1));
    printf("close: %d\n", close(-1));
    printf("dlopen: %d\n", dlopen("libm.so.6", RTLD_NOW) != NULL);
    pthread_t thread;
    pthread_create(&thread, NULL, burn, NULL);
    burn(NULL);
    pthread_join(thread, NULL);
    int status = 1;
    pid_t child = fork();
    if (child == 0) {
        char *words[] = {argv[0], "child", NULL};
        execv("/proc/self/exe", words);
        _exit(9);
    }
    waitpid(child, &status, 0);
    printf("child: %d\n", status);
    return 0;
}
