/* Starts the program named second in the way named first, and says how it ended. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

int main(int argc, char **argv) {
    if (argc < 3) {
        printf("%s\n", argc > 1 ? argv[1] : "runs");
        return 7;
    }
    const char *way = argv[1], *path = argv[2];
    char *words[] = {argv[2], NULL};
    int status = -1;
    pid_t child = -1;
    if (strcmp(way, "spawn") == 0)
        posix_spawn(&child, path, NULL, NULL, words, environ);
    else if (strcmp(way, "spawnp") == 0)
        posix_spawnp(&child, path, NULL, NULL, words, environ);
    else if (strcmp(way, "vfork") == 0 && (child = vfork()) == 0) {
        execve(path, words, environ);
        _exit(9);
    } else if (strcmp(way, "fork") == 0 && (child = fork()) == 0) {
        execvp(path, words);
        _exit(9);
    } else if (strcmp(way, "raw") == 0 && (child = (pid_t)syscall(SYS_fork)) == 0) {
        execv(path, words);
        _exit(9);
    } else if (strcmp(way, "descriptor") == 0 && (child = fork()) == 0) {
        fexecve(open(path, O_RDONLY | O_CLOEXEC), words, environ);
        _exit(9);
    } else if (strcmp(way, "here") == 0) {
        fflush(stdout);
        execl(path, path, NULL);
        return 9;
    }
    if (child > 0)
        waitpid(child, &status, 0);
    printf("%s: %d\n", way, WIFEXITED(status) ? WEXITSTATUS(status) : -status);
    return 0;
}
