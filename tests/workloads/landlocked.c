/*
 * Forbids itself to read files (landlock(7)) but those below the folders that a program needs, and
 * this one; then starts the program named second, in the way named first.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

int main(int count, char **words) {
    (void)count;
    struct landlock_ruleset_attr rules = {.handled_access_fs = LANDLOCK_ACCESS_FS_READ_FILE};
    int set = (int)syscall(SYS_landlock_create_ruleset, &rules, sizeof rules, 0);
    const char *folders[] = {"/usr", "/lib", "/lib64", "/bin", "/etc", "/proc", "/dev", ".", NULL};
    for (const char **folder = folders; *folder; folder++) {
        struct landlock_path_beneath_attr rule = {
            .allowed_access = LANDLOCK_ACCESS_FS_READ_FILE,
            .parent_fd = open(*folder, O_PATH | O_CLOEXEC),
        };
        if (rule.parent_fd >= 0)
            syscall(SYS_landlock_add_rule, set, LANDLOCK_RULE_PATH_BENEATH, &rule, 0);
    }
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (syscall(SYS_landlock_restrict_self, set, 0)) return 77;
    int status = -1;
    if (!strcmp(words[1], "exec")) execv(words[2], words + 2);
    if (!strcmp(words[1], "shell")) status = system(words[2]);
    if (!strcmp(words[1], "spawn")) {
        pid_t child;
        posix_spawn(&child, words[2], NULL, NULL, words + 2, environ);
        waitpid(child, &status, 0);
    }
    if (!strcmp(words[1], "vfork")) {
        pid_t child = vfork();
        if (child == 0) {
            execv(words[2], words + 2);
            _exit(9);
        }
        waitpid(child, &status, 0);
    }
    printf("ended: %x\n", status);
    return 0;
}
