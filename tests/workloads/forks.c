/* Forks while other threads burn CPU, load libraries and create threads; children work for long
 * without exec, with threads of their own; others are made by the kernel's calls, behind the C
 * library's back. Prints how each ended. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <linux/sched.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static volatile unsigned long result;
static volatile int stop;

__attribute__((noinline)) static unsigned long burn(unsigned long steps) {
    unsigned long value = 1;
    while (steps-- > 0) value = value * 6364136223846793005UL + 1;
    return result = value;
}

static void *busy(void *argument) {
    while (!stop) burn(20000);
    return argument;
}

static void *loads(void *argument) {
    while (!stop) {
        void *library = dlopen("libm.so.6", RTLD_NOW);
        burn(20000);
        if (library) dlclose(library);
    }
    return argument;
}

static void *brief(void *argument) {
    burn(20000);
    return argument;
}

static void *creates(void *argument) {
    while (!stop) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, brief, NULL) == 0) pthread_join(thread, NULL);
    }
    return argument;
}

__attribute__((noinline)) static unsigned long child_work(void) {
    clock_t start = clock();
    do
        burn(100000);
    while (clock() - start < CLOCKS_PER_SEC / 10);
    return burn(1000);
}

static int ended(pid_t pid) {
    int status = -1;
    if (pid < 0 || waitpid(pid, &status, 0) != pid) return -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

static int cloned(void *argument) {
    burn(100000);
    _exit(*(int *)argument);
}

int main(void) {
    void *(*const bodies[])(void *) = {busy, loads, creates};
    unsigned long expected = burn(1000);
    pthread_t threads[3];
    int right = 0, seven = 7;
    for (int i = 0; i < 3; i++) pthread_create(&threads[i], NULL, bodies[i], NULL);
    for (int i = 0; i < 20; i++) {
        pid_t pid = fork();
        if (pid == 0) _exit(burn(1000) == expected ? 7 : 1);
        right += ended(pid) == 7;
    }
    printf("fork among threads: %d right\n", right);
    fflush(stdout);
    stop = 1;
    for (int i = 0; i < 3; i++) pthread_join(threads[i], NULL);

    pid_t pid = fork();
    if (pid == 0) {
        void *answer = NULL;
        pthread_t thread;
        pthread_create(&thread, NULL, brief, &seven);
        pthread_join(thread, &answer);
        exit(answer == &seven && child_work() == expected ? 3 : 1);
    }
    printf("long child: %d\n", ended(pid));
    fflush(stdout);

    static char stack[65536] __attribute__((aligned(16)));
    printf("clone: %d\n", ended(clone(cloned, stack + sizeof stack, SIGCHLD, &seven)));
    printf("clone, shared memory: %d\n",
           ended(clone(cloned, stack + sizeof stack, SIGCHLD | CLONE_VM | CLONE_VFORK, &seven)));
    fflush(stdout);
    pid = (pid_t)syscall(SYS_fork);
    if (pid == 0) _exit(burn(1000) == expected ? 5 : 1);
    printf("SYS_fork: %d\n", ended(pid));
    fflush(stdout);
    struct clone_args arguments;
    memset(&arguments, 0, sizeof arguments);
    arguments.exit_signal = SIGCHLD;
    pid = (pid_t)syscall(SYS_clone3, &arguments, sizeof arguments);
    if (pid == 0) _exit(burn(1000) == expected ? 6 : 1);
    printf("SYS_clone3: %d\n", ended(pid));
    fflush(stdout);

    /* A daemon by the book: two forks, and nobody waits for the second. It says when it is done. */
    int ends[2];
    char word[8] = "";
    if (pipe(ends) != 0) return 1;
    pid = fork();
    if (pid == 0) {
        setsid();
        if (fork() != 0) _exit(4);
        const char *answer = child_work() == expected ? "right" : "wrong";
        _exit(write(ends[1], answer, 5) != 5);
    }
    close(ends[1]);
    printf("daemon's parent: %d\n", ended(pid));
    if (read(ends[0], word, 5) < 0) return 1;
    printf("daemon: %s\n", word);
    return 0;
}
