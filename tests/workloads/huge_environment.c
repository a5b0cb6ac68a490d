/* huge_environment: an environment and arguments of a megabyte each, passed on by exec, by posix_spawn, by
 * fork and by a shell. Prints what arrives. */
#define _GNU_SOURCE
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { STRINGS = 10, LENGTH = 100000 };
extern char **environ;
static volatile unsigned long result;

/* In every process a little, so that there is something to be sampled. */
__attribute__((noinline)) static void work(void) {
    for (unsigned long i = 0; i < 20000000; i++) result += i * i;
}

static int arrived(int count, char **arguments) {
    int right = 0;
    for (int i = 2; i < count; i++) right += strlen(arguments[i]) == LENGTH;
    for (int i = 0; i < STRINGS; i++) {
        char name[16];
        snprintf(name, sizeof name, "HUGE_%d", i);
        const char *value = getenv(name);
        right += value && strlen(value) == LENGTH && value[LENGTH - 1] == 'a' + i;
    }
    return right;
}

static int ended(pid_t pid) {
    int status = -1;
    if (pid < 0 || waitpid(pid, &status, 0) != pid) return -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

int main(int count, char **arguments) {
    work();
    if (count > 2) return arrived(count, arguments);
    char *all[STRINGS + 3] = {arguments[0], "child"};
    for (int i = 0; i < STRINGS; i++) {
        char name[16], *value = malloc(LENGTH + 1);
        memset(value, 'a' + i, LENGTH);
        value[LENGTH] = 0;
        snprintf(name, sizeof name, "HUGE_%d", i);
        setenv(name, value, 1);
        all[i + 2] = value;
    }
    pid_t pid = fork();
    if (pid == 0) execv("/proc/self/exe", all), _exit(1);
    printf("fork and exec: %d\n", ended(pid));
    pid = vfork();
    if (pid == 0) execve("/proc/self/exe", all, environ), _exit(1);
    printf("vfork and exec: %d\n", ended(pid));
    if (posix_spawn(&pid, "/proc/self/exe", NULL, NULL, all, environ) != 0) pid = -1;
    printf("posix_spawn: %d\n", ended(pid));
    fflush(stdout);
    int status = system("exit ${#HUGE_3}");
    printf("system: %d\n", WEXITSTATUS(status) == (LENGTH & 255));
    /* More than the kernel takes. */
    char *far_too_many[400];
    for (int i = 0; i < 399; i++) far_too_many[i] = all[2];
    far_too_many[399] = NULL;
    execv("/proc/self/exe", far_too_many);
    perror("too many");
    work();
    return 0;
}
