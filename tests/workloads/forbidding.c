/* forbidding CALLS PROGRAM…: runs the program under a filter that refuses some system calls: `perf` for
 * perf_event_open, `timers` for timer_create, or both, with a comma. As containers do. */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static struct sock_filter code[8] = {
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
};
static unsigned short length = 1;

static void forbid(unsigned number) {
    code[length++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1);
    code[length++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM);
}

int main(int count, char **arguments) {
    if (count < 3) return 2;
    if (strstr(arguments[1], "perf")) forbid(SYS_perf_event_open);
    if (strstr(arguments[1], "timers")) forbid(SYS_timer_create);
    code[length++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    struct sock_fprog program = {length, code};
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) return 3;
    execv(arguments[2], arguments + 2);
    perror(arguments[2]);
    return 4;
}
