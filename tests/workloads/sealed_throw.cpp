// Throws for the first time when a filter allows the system calls alone that exceptions need, and
// what the C library needs to end the program.
#include <cstddef>
#include <cstdio>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define ALLOW(number) \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

__attribute__((noinline)) static void thrower() { throw 7; }

int main() {
    sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
        ALLOW(SYS_write), ALLOW(SYS_exit_group), ALLOW(SYS_brk), ALLOW(SYS_mmap), ALLOW(SYS_munmap),
        ALLOW(SYS_futex), ALLOW(SYS_mprotect),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
    };
    sock_fprog program = {sizeof filter / sizeof *filter, filter};
    setvbuf(stdout, nullptr, _IONBF, 0);
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
    try {
        thrower();
    } catch (int thrown) {
        printf("caught %d\n", thrown);
    }
    _exit(7);
}
