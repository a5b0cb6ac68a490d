/* Threads of the smallest size, of which thread-local variables take half, with a page below that nobody may
 * touch: they begin where others have ended by a system call of their own, begin and wait for others, spawn
 * processes, fork, and end by pthread_exit; the last one restricts its system calls and ends the process. Prints
 * what they did. */
#define _GNU_SOURCE
#include <limits.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PAGE = 4096, ROUNDS = 20 };

static __thread volatile char own[6000];
static volatile unsigned long sink;

__attribute__((noinline)) static void work(unsigned long n) {
    for (unsigned long i = 0; i < n; i++) sink += i * i;
}

static void begin(pthread_t *thread, void *(*body)(void *), void *argument) {
    size_t size = PTHREAD_STACK_MIN;
    char *memory = mmap(NULL, PAGE + size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    mprotect(memory + PAGE, size, PROT_READ | PROT_WRITE);
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstack(&attributes, memory + PAGE, size);
    if (pthread_create(thread, &attributes, body, argument) != 0) abort();
    pthread_attr_destroy(&attributes);
}

static void *ends(void *done) {
    own[0] = 1;
    *(volatile int *)done = 1;
    syscall(SYS_exit, 0);
    return NULL;
}

static int spawned;

static void *inner(void *argument) {
    own[5999] = 1;
    work(200000);
    char *words[] = {"true", NULL};
    pid_t child;
    int status = 1;
    if (posix_spawn(&child, "/bin/true", NULL, NULL, words, environ) == 0) waitpid(child, &status, 0);
    *(int *)argument += status == 0;
    return NULL;
}

static void *outer(void *statuses) {
    own[3000] = 1;
    work(1000000);
    pthread_t thread;
    begin(&thread, inner, &spawned);
    pthread_join(thread, NULL);
    pid_t child = fork();
    if (child == 0) {
        work(1000000);
        _exit(3);
    }
    int status = 0;
    waitpid(child, &status, 0);
    *(int *)statuses += WEXITSTATUS(status);
    pthread_exit(NULL);
}

static void *last(void *argument) {
    static struct sock_filter all[] = {BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    static struct sock_fprog filter = {1, all};
    own[0] = 1;
    work(1000000);
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter);
    work(1000000);
    exit(0);
    return argument;
}

int main(void) {
    int statuses = 0;
    for (int round = 0; round < ROUNDS; round++) {
        volatile int done = 0;
        pthread_t thread;
        begin(&thread, ends, (void *)&done);
        while (!done) usleep(100);
        usleep(1000);
        begin(&thread, outer, &statuses);
        pthread_join(thread, NULL);
    }
    printf("%d children and %d spawned of %d\n", statuses / 3, spawned, ROUNDS);
    fflush(stdout);
    pthread_t thread;
    begin(&thread, last, NULL);
    pthread_join(thread, NULL);
    return 1;
}
