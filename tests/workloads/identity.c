/* identity WAY: becomes somebody else, or goes elsewhere, while it works, and forks; the child
 * works, too. What needs a privilege that is not there is left out; the answer is the same. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <grp.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static volatile unsigned long result;

__attribute__((noinline)) static void work(void) {
    clock_t start = clock();
    do
        for (unsigned long i = 0; i < 100000; i++) result += i * i;
    while (clock() - start < CLOCKS_PER_SEC / 20);
}

__attribute__((noinline)) static void child_work(void) { work(), result++; }

static void *body(void *argument) {
    work();
    return argument;
}

int main(int count, char **arguments) {
    const char *way = count > 1 ? arguments[1] : "chroot";
    int done = 0;
    if (!strcmp(way, "exec") && count > 2) {
        work();
        printf("exec: %s, %d variables\n", arguments[2], environ && environ[0] ? 1 : 0);
        return 5;
    }
    work();
    if (!strcmp(way, "chroot")) {
        mkdir("empty", 0755);
        done = chroot("empty") == 0 && chdir("/") == 0;
    }
    if (!strcmp(way, "chdir")) done = chdir("/");
    if (!strcmp(way, "user"))
        done = setgroups(0, NULL) | setresgid(65534, 65534, 65534) |
               setresuid(65534, 65534, 65534);
    if (!strcmp(way, "dumpable")) done = prctl(PR_SET_DUMPABLE, 0);
    if (!strcmp(way, "name")) {
        done = prctl(PR_SET_NAME, "another");
        memset(arguments[0], 'x', strlen(arguments[0]));
    }
    if (!strcmp(way, "pids")) done = unshare(CLONE_NEWPID);
    if (!strcmp(way, "mounts")) {
        done = unshare(CLONE_NEWNS) | mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) |
               mount("none", "/dev/shm", "tmpfs", 0, NULL) | mount("none", "/tmp", "tmpfs", 0, NULL);
    }
    if (!strcmp(way, "exec")) {
        clearenv();
        execl("/proc/self/exe", arguments[0], "exec", "cleared", (char *)NULL);
        return 9;
    }
    (void)done;
    pthread_t thread;
    void *answer = &answer;
    /* In front of a new process id namespace there are no more threads. */
    if (pthread_create(&thread, NULL, body, &answer) == 0) pthread_join(thread, &answer);
    pid_t pid = fork();
    if (pid == 0) {
        child_work();
        _exit(3);
    }
    int status = -1;
    waitpid(pid, &status, 0);
    /* A program that is not there, or cannot be read from here, is an answer as well. */
    int shell = system("exit 4");
    shell = WEXITSTATUS(shell) == 4 || WEXITSTATUS(shell) == 127;
    printf("%s: thread %s, child %d, shell %s\n", way, answer == &answer ? "over" : "wrong",
           WEXITSTATUS(status), shell ? "over" : "wrong");
    work();
    return 0;
}
