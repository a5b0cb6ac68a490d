/* Installs two filters, of which the second forbids that handlers return (rt_sigreturn). Before that and
 * after each, says whether SIGPROF is ignored, by the kernel. */
#define _GNU_SOURCE
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <string.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <signal.h>

static void say(const char *when) {
    char line[200];
    FILE *status = fopen("/proc/self/status", "r");
    while (status && fgets(line, sizeof line, status))
        if (strncmp(line, "SigIgn:", 7) == 0)
            printf("%s: ignored %llu\n", when, strtoull(line + 7, NULL, 16) >> (SIGPROF - 1) & 1);
    fclose(status);
}

static void install(unsigned forbidden) {
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, forbidden, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog filter = {4, code};
    if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &filter)) perror("filter");
}

int main(void) {
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    say("before");
    install(SYS_reboot);
    say("once");
    install(SYS_rt_sigreturn);
    say("twice");
    return 0;
}
