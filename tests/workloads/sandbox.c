/* Forbids itself all system calls but a few, in three ways, and goes on working. What is not on the
 * list ends the process. Or executes programs then that it names by bad pointers. Or asks for all of
 * that without a filter, as who looks what the kernel knows, and works for 200 ms of CPU time. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "allowed_calls.h"

static volatile unsigned long result;

static void work(unsigned steps) {
    unsigned long value = steps;
    while (steps-- > 0) value = value * 6364136223846793005UL + 1;
    result = value;
}

/* Deep enough that a sampler needs new memory for its tree. */
__attribute__((noinline)) static long deep(long depth) {
    volatile long here = depth;
    if (depth == 0) {
        work(3000000);
        return 0;
    }
    return deep(depth - 1) + (here - depth) + 1;
}

static pthread_barrier_t filtered;

static void *other(void *argument) {
    pthread_barrier_wait(&filtered);
    work(1000000);
    pthread_barrier_wait(&filtered);
    deep(20000);
    pthread_barrier_wait(&filtered);
    pause();
    return argument;
}

static struct sock_fprog *filter(void) {
    return ALLOW_ONLY(SYS_write, SYS_exit_group, SYS_exit, SYS_futex, SYS_pause, SYS_rt_sigreturn, SYS_ppoll);
}

static void say(const char *text) {
    if (write(1, text, strlen(text)) < 0) _exit(9);
}

static int is_fault(long result) { return result == -1 && errno == EFAULT; }

static int asks(void) {
    struct timespec used = {0, 0};
    int faults = is_fault(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, NULL));
    faults += is_fault(syscall(SYS_prctl, PR_SET_SECCOMP, SECCOMP_MODE_FILTER, NULL));
    faults += is_fault(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, NULL));
    prctl(59 /* PR_SET_SYSCALL_USER_DISPATCH */, 0, 0, 0, 0);
    while (used.tv_sec == 0 && used.tv_nsec < 200000000) {
        work(100000);
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    }
    printf("%d faults\n", faults);
    return 7;
}

static int executes(void) {
    char *bad = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    char *const own[] = {"program", NULL}, *const of_bad[] = {bad, NULL};
    int faults = 0;
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ALLOW_ONLY(SYS_write, SYS_execve, SYS_execveat, SYS_exit_group));
    faults += is_fault(syscall(SYS_execve, bad, own, environ));
    faults += is_fault(syscall(SYS_execve, "/proc/self/exe", own, bad));
    faults += is_fault(syscall(SYS_execve, "/proc/self/exe", own, of_bad));
    faults += is_fault(syscall(SYS_execveat, -1, bad, own, environ, 0));
    faults += is_fault(execve(bad, own, environ));
    faults += is_fault(execve("/proc/self/exe", own, of_bad));
    say(faults == 6 ? "6 faults\n" : "other errors\n");
    _exit(7);
}

int main(int count, char **arguments) {
    const char *way = count > 1 ? arguments[1] : "";
    if (strcmp(way, "asks") == 0) return asks();
    if (strcmp(way, "executes") == 0) return executes();
    pthread_t thread;
    pthread_barrier_init(&filtered, NULL, 2);
    if (strcmp(way, "strict") != 0) {
        /* A filter for all threads must not catch one that the C library is still starting. */
        pthread_create(&thread, NULL, other, NULL);
        pthread_barrier_wait(&filtered);
    }
    work(3000000);
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (strcmp(way, "strict") == 0) prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
    if (strcmp(way, "prctl") == 0) prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, filter());
    if (strcmp(way, "syscall") == 0)
        syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, filter());
    if (strcmp(way, "strict") == 0) {
        deep(20000);
        say("strict: worked\n");
        syscall(SYS_exit, 7);
    }
    pthread_barrier_wait(&filtered);
    deep(20000);
    pthread_barrier_wait(&filtered);
    say(way);
    say(": worked\n");
    _exit(7);
}
