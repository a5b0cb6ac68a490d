/* A timer's handler forks at any moment, also while a thread is being created or a library loaded,
 * and nobody waits for anybody: _Fork is async-signal-safe (POSIX.1-2024). */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile sig_atomic_t children, wrong, wanted;

static void fork_here(int signal) {
    int before = errno, status = 0;
    if (children >= wanted) return;
    pid_t child = _Fork();
    (void)signal;
    if (child == 0) _exit(7);
    if (child < 0 || waitpid(child, &status, 0) != child || WEXITSTATUS(status) != 7) wrong++;
    children++;
    errno = before;
}

static void *same(void *argument) { return argument; }

int main(int count, char **arguments) {
    struct sigaction action = {.sa_handler = fork_here, .sa_flags = SA_RESTART};
    struct itimerval often = {{0, 300}, {0, 300}}, never = {{0, 0}, {0, 0}};
    int threads = 0, loads = 0;
    wanted = count > 1 ? atoi(arguments[1]) : 200;
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &often, NULL);
    // The handler may take all the time of a slow machine from here on: once round at least.
    do {
        pthread_t thread;
        void *result = NULL;
        int error = pthread_create(&thread, NULL, same, arguments);
        if (error == 0) pthread_join(thread, &result);
        if (error != 0 || result != arguments) wrong++;
        threads++;
        void *library = dlopen("libm.so.6", RTLD_NOW);
        if (library == NULL || dlclose(library) != 0) wrong++;
        loads++;
    } while (children < wanted);
    setitimer(ITIMER_REAL, &never, NULL);
    printf("children %s, threads %s, loads %s, wrong %d\n", children >= wanted ? "yes" : "no",
           threads > 0 ? "yes" : "no", loads > 0 ? "yes" : "no", (int)wrong);
    return 0;
}
