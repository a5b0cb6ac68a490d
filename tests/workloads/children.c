/* Every way to make a process. Prints how each child ended. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pty.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;
extern pid_t _Fork(void);

static volatile unsigned long sink;
__attribute__((noinline)) static unsigned long burn(void) {
    unsigned long sum = 0;
    for (unsigned long i = 0; i < 20000000; i++) sum += i ^ (sum >> 3);
    return sink = sum;
}

static void report(const char *what, pid_t pid) {
    int status = -1;
    waitpid(pid, &status, 0);
    if (WIFEXITED(status))
        printf("%s: exit %d\n", what, WEXITSTATUS(status));
    else
        printf("%s: signal %d\n", what, WTERMSIG(status));
    fflush(stdout);
}

static char *shell[] = {"sh", "-c", "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; exit 5", NULL};

int main(void) {
    static unsigned long expected;
    static pid_t pid;
    expected = burn();

    if ((pid = fork()) == 0) exit(burn() == expected ? 3 : 1);
    report("fork", pid);
    if ((pid = _Fork()) == 0) _exit(burn() == expected ? 4 : 1);
    report("_Fork", pid);
    if ((pid = vfork()) == 0) {
        execvp("sh", shell);
        _exit(127);
    }
    report("vfork and execvp", pid);
    if ((pid = vfork()) == 0) {
        execl("/bin/sh", "sh", "-c", "exit $#", "sh", "1", "2", "3", "4", "5", "6", NULL);
        _exit(127);
    }
    report("vfork and execl", pid);
    if ((pid = vfork()) == 0) {
        execl("/no/such/program", "x", NULL);
        _exit(9);
    }
    report("vfork and failed exec", pid);
    posix_spawn(&pid, "/bin/sh", NULL, NULL, shell, environ);
    report("posix_spawn", pid);
    posix_spawnp(&pid, "sh", NULL, NULL, shell, environ);
    report("posix_spawnp", pid);
    printf("system: %d\n", WEXITSTATUS(system("exit 6")));
    fflush(stdout);

    char line[64] = "";
    FILE *pipe_in = popen("echo from popen; exit 7", "r");
    if (!fgets(line, sizeof line, pipe_in)) return 1;
    printf("popen: %d %s", WEXITSTATUS(pclose(pipe_in)), line);

    int terminal;
    if ((pid = forkpty(&terminal, NULL, NULL, NULL)) == 0) exit(burn() == expected ? 8 : 1);
    report("forkpty", pid);

    /* daemon's caller ends; the daemon tells us through a pipe. */
    int ends[2];
    if (pipe(ends) != 0) return 1;
    fflush(stdout);
    if ((pid = fork()) == 0) {
        if (daemon(0, 0) != 0) _exit(1);
        const char *word = burn() == expected ? "works" : "is wrong";
        _exit(write(ends[1], word, strlen(word)) < 0);
    }
    close(ends[1]);
    report("daemon's caller", pid);
    memset(line, 0, sizeof line);
    if (read(ends[0], line, sizeof line - 1) < 0) return 1;
    printf("daemon %s\n", line);
    fflush(stdout);

    if ((pid = fork()) == 0) {
        pid_t inner = fork();
        if (inner == 0) exit(burn() == expected ? 11 : 1);
        int status;
        waitpid(inner, &status, 0);
        exit(WEXITSTATUS(status) + 1);
    }
    report("grandchild", pid);
    printf("sum %lx\n", expected);
    return 0;
}
