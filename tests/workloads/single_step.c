// Goes through csprof's return trampoline one instruction at a time.
//
//     program WHAT
//
// A function takes a sample of itself, so that its return address is replaced, fills the registers
// with what it knows, and returns with the processor's single-step flag set. Each instruction of the
// trampoline then raises SIGTRAP, and in one of them, another one each round, the handler does WHAT:
//
//     sample   has a profiling signal arrive right there
//     nested   has one arrive in the handler
//     fork     forks; the child goes on from there, to its own end
//     trace    asks backtrace(3) for its callers
//     jump     leaves the handler by siglongjmp, so that the return never happens
//
// When the return has come to its end, every register must hold what the function left there.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <execinfo.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <ucontext.h>

#include "kernel_call.h"
#include "own_samples.h"

static struct signal_source source;
static const char *what;
static sigjmp_buf start_of_round;
static long step, due, done, wrong;
static int child;
static unsigned long low, high;

// What the registers hold when `stepped` returns: 16 general ones, 16 vectors, the flags.
unsigned long left[16] = {0x1001, 0x1002, 0x1003, 0x1004, 0x1005, 0x1006, 0x1007, 0x1008,
                          0x1009, 0x100a, 0x100b, 0x100c, 0x100d, 0x100e, 0x100f, 0x1010};
float left_vectors[16][4];
// Sign, zero, auxiliary, parity and carry all set, overflow too; and the step flag.
#define FLAGS 0x8d5
unsigned long left_flags = FLAGS | 0x100 | 0x202;

void *queued;
long profiled_process, profiled_thread, profiling_call;
extern char after_stepped[];

// long stepped(void): a sample, then all registers, then a return that is stepped through.
__asm__(".text\n"
        ".type stepped, @function\n"
        "stepped:\n"
        ".cfi_startproc\n"
        "mov profiling_call(%rip), %rax\n"
        "mov profiled_process(%rip), %rdi\n"
        "mov profiled_thread(%rip), %rsi\n"
        "mov $27, %edx\n"
        "mov queued(%rip), %r10\n"
        "syscall\n"
        "lea left_vectors(%rip), %rax\n"
        ".irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15\n"
        "movups \\n * 16(%rax), %xmm\\n\n"
        ".endr\n"
        "mov left+0(%rip), %rax\n"
        "mov left+8(%rip), %rcx\n"
        "mov left+16(%rip), %rdx\n"
        "mov left+24(%rip), %rsi\n"
        "mov left+32(%rip), %rdi\n"
        "mov left+40(%rip), %r8\n"
        "mov left+48(%rip), %r9\n"
        "mov left+56(%rip), %r10\n"
        "mov left+64(%rip), %r11\n"
        "mov left+72(%rip), %rbx\n"
        "mov left+80(%rip), %r12\n"
        "mov left+88(%rip), %r13\n"
        "mov left+96(%rip), %r14\n"
        "mov left+104(%rip), %r15\n"
        "mov left+112(%rip), %rbp\n"
        "pushq left_flags(%rip)\n"
        ".cfi_adjust_cfa_offset 8\n"
        "popfq\n"
        ".cfi_adjust_cfa_offset -8\n"
        "ret\n"
        ".cfi_endproc\n"
        ".size stepped, . - stepped\n"
        // void round_of_steps(void)
        ".globl round_of_steps\n"
        ".type round_of_steps, @function\n"
        "round_of_steps:\n"
        ".cfi_startproc\n"
        ".irp register, rbx, r12, r13, r14, r15, rbp\n"
        "push %\\register\n"
        ".cfi_adjust_cfa_offset 8\n"
        ".cfi_rel_offset \\register, 0\n"
        ".endr\n"
        "sub $8, %rsp\n"
        ".cfi_adjust_cfa_offset 8\n"
        "call stepped\n"
        ".globl after_stepped\n"
        "after_stepped:\n"
        "add $8, %rsp\n"
        ".cfi_adjust_cfa_offset -8\n"
        ".irp register, rbp, r15, r14, r13, r12, rbx\n"
        "pop %\\register\n"
        ".cfi_adjust_cfa_offset -8\n"
        ".cfi_restore \\register\n"
        ".endr\n"
        "ret\n"
        ".cfi_endproc\n"
        ".size round_of_steps, . - round_of_steps\n");
void round_of_steps(void);

static void say(const char *fault) {
    wrong++;
    printf("step %ld: %s\n", due, fault);
}

static void check_registers(ucontext_t *context) {
    static const int ORDER[] = {REG_RAX, REG_RCX, REG_RDX, REG_RSI, REG_RDI, REG_R8,  REG_R9, REG_R10,
                                REG_R11, REG_RBX, REG_R12, REG_R13, REG_R14, REG_R15, REG_RBP};
    greg_t *registers = context->uc_mcontext.gregs;
    for (int i = 0; i < 15; i++)
        if ((unsigned long)registers[ORDER[i]] != left[i])
            say("a general register is not as it was left");
    for (int i = 0; i < 16; i++)
        if (memcmp(context->uc_mcontext.fpregs->_xmm + i, left_vectors[i], 16) != 0)
            say("a vector register is not as it was left");
    if ((registers[REG_EFL] & FLAGS) != FLAGS)
        say("the flags are not as they were left");
}

static void now(ucontext_t *context) {
    done++;
    if (what[0] == 's') {
        // Blocked here, behind csprof's back, it arrives when the handler returns.
        uint64_t profiling = 1 << (SIGPROF - 1);
        kernel_call(SYS_rt_sigprocmask, SIG_BLOCK, &profiling, NULL, 8);
        RAISE(source);
    } else if (what[0] == 'n') {
        RAISE(source);
    } else if (what[0] == 'f') {
        fflush(stdout);
        child = _Fork();
        int status = -1;
        if (child > 0 && (waitpid(child, &status, 0) != child || status != 0))
            say("the child has not ended well");
    } else if (what[0] == 't') {
        void *frames[64];
        int count = backtrace(frames, 64);
        for (int i = 0; i < count; i++) {
            // The entry's frame is one of a signal, whose caller is shown where it called.
            unsigned long behind = (unsigned long)frames[i] - (unsigned long)after_stepped;
            if (behind == 0 || behind == -1ul)
                return;
        }
        say("the caller is not in the trace");
    } else {
        siglongjmp(start_of_round, 1);
    }
}

static void on_step(int signal, siginfo_t *info, void *context_) {
    ucontext_t *context = context_;
    unsigned long pc = context->uc_mcontext.gregs[REG_RIP];
    (void)signal, (void)info;
    if (pc == (unsigned long)after_stepped) {
        context->uc_mcontext.gregs[REG_EFL] &= ~0x100;
        check_registers(context);
        if (child == 0 && what[0] == 'f' && done)
            _exit(wrong != 0);
    } else if (pc >= low && pc < high && step++ == due) {
        now(context);
    }
}

// The code of the collector, which is the library in which backtrace or longjmp is found first.
static void find_collector(void) {
    Dl_info found;
    char line[512], path[256];
    unsigned long from, to;
    if (!dladdr(dlsym(RTLD_DEFAULT, "_longjmp"), &found))
        return;
    FILE *maps = fopen("/proc/self/maps", "r");
    while (maps && fgets(line, sizeof line, maps))
        if (sscanf(line, "%lx-%lx r-x%*s %*s %*s %*s %255s", &from, &to, path) == 3 &&
            strcmp(path, found.dli_fname) == 0 && strstr(path, "csprof"))
            low = from, high = to;
    if (maps)
        fclose(maps);
}

__attribute__((noinline)) static void rounds(void) {
    for (;;) {
        if (sigsetjmp(start_of_round, 1) != 0)
            due++;
        step = done = child = 0;
        round_of_steps();
        if (!done)
            return;
        due++;
    }
}

int main(int count, char **arguments) {
    struct sigaction trap = {.sa_sigaction = on_step, .sa_flags = SA_SIGINFO};
    what = arguments[count - 1];
    void *early[4];
    backtrace(early, 4);
    for (int i = 0; i < 64; i++)
        left_vectors[i / 4][i % 4] = i + 0.5f;
    take_over(&source);
    queued = &source.info;
    profiled_process = source.process;
    profiled_thread = source.thread;
    profiling_call = source.call;
    find_collector();
    sigaction(SIGTRAP, &trap, 0);
    rounds();
    printf("%ld instructions, %ld wrong\n", due, wrong);
    return 0;
}
