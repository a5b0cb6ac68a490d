/* seals_beside_callback [child]: while a thread is in a callback of dl_iterate_phdr, the main thread
 * (or a child that it forks) filters its system calls. */
#define _GNU_SOURCE
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "in_callback.h"

static int seal(void) {
    struct sock_filter filter[] = {BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    struct sock_fprog program = {1, filter};
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

int main(int count, char **arguments) {
    (void)arguments;
    int status = 0;
    /* One that hangs is ended. */
    alarm(20);
    begin_visit();
    if (count > 1) {
        int pid = fork();
        if (pid == 0) alarm(10), _exit(seal());
        waitpid(pid, &status, 0);
    } else {
        status = seal();
    }
    printf("ended with %d\n", status);
    return 0;
}
