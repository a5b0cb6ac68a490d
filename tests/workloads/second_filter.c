/* Installs two filters, of which the first forbids the system call whose number is given, and the second, a long
 * one, that handlers return (rt_sigreturn). Before that and after each, says whether SIGPROF is ignored, by the
 * kernel. */
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

static void install(unsigned forbidden, int padding) {
    static struct sock_filter code[4096];
    struct sock_filter end[] = {
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, forbidden, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    for (int i = 0; i <= padding; i++) code[i] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0);
    memcpy(code + padding + 1, end, sizeof end);
    struct sock_fprog filter = {padding + 4, code};
    if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &filter)) perror("filter");
}

int main(int count, char **words) {
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    say("before");
    install(atoi(words[count - 1]), 0);
    say("once");
    install(SYS_rt_sigreturn, 2000);
    say("twice");
    return 0;
}
