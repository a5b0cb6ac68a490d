// A filter (seccomp(2)) that ends the process at any system call but some.
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

// Allows at most 16 calls, by number. The result is the caller's until the next call.
static struct sock_fprog *allow_only(const int *calls, size_t count) {
    static struct sock_filter code[2 + 2 * 16];
    static struct sock_fprog program = {0, code};
    unsigned short n = 0;
    code[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    for (size_t i = 0; i < count; i++) {
        code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)calls[i], 0, 1);
        code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    }
    code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
    program.len = n;
    return &program;
}

// The same of numbers that are written one after the other.
#define ALLOW_ONLY(...) \
    allow_only((const int[]){__VA_ARGS__}, sizeof (const int[]){__VA_ARGS__} / sizeof(int))
