/* State of the processor that a handler must not depend on, and must leave as it is: alignment checks,
 * direction, rounding and unmasked exceptions of both floating-point units, a full x87 stack, vectors,
 * protection keys. Each is set during a loop that computes something known. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

/* A fortieth of them in each turn of the loop with a key. */
#define KEYED_STEPS "1000000"
enum { STEPS = 40000000 };
static uint64_t expected;
static void result(const char *what, uint64_t sum, int kept) {
    printf("%s: %s, %s\n", what, sum == expected ? "right" : "WRONG", kept ? "kept" : "LOST");
}
#define LOOP                                                                                     \
    "mov %[steps], %%rcx\n xor %%rax, %%rax\n"                                                   \
    "1: lea 1(%%rax,%%rcx), %%rax\n rol $3, %%rax\n dec %%rcx\n jnz 1b\n"
#define RUN(before, after, inputs...)                                                            \
    __asm__ volatile(before LOOP after                                                           \
                     : "=&a"(sum)                                                                \
                     : [steps] "i"(STEPS), inputs                                                \
                     : "rcx", "rdx", "rsi", "rdi", "memory", "cc")

/* Loops move the stack pointer behind the back of their call frame information. What a profiler
 * then takes for a return address is what earlier code has left there: nothing. */
__attribute__((constructor)) static void wipe(void) {
    volatile char left[1 << 14];
    for (size_t at = 0; at < sizeof left; at++) left[at] = 0;
}

static void flags(void) {
    uint64_t sum;
    static uint64_t found;
    RUN("lea -128(%%rsp), %%rsp\n pushfq\n orl $0x40000, (%%rsp)\n popfq\n",
        "pushfq\n pop %%rdx\n mov %%rdx, %[found]\n pushfq\n andl $~0x40000, (%%rsp)\n popfq\n"
        "lea 128(%%rsp), %%rsp\n", [found] "m"(found));
    result("alignment check", sum, found >> 18 & 1);
    RUN("lea -128(%%rsp), %%rsp\n std\n",
        "pushfq\n pop %%rdx\n cld\n mov %%rdx, %[found]\n lea 128(%%rsp), %%rsp\n",
        [found] "m"(found));
    result("direction", sum, found >> 10 & 1);
}
static void units(void) {
    uint64_t sum;
    /* Rounds up, and no exception is masked. */
    uint32_t mxcsr = 0x4000, usual = 0x1f80, found;
    RUN("ldmxcsr %[mxcsr]\n", "stmxcsr %[found]\n ldmxcsr %[usual]\n",
        [mxcsr] "m"(mxcsr), [found] "m"(found), [usual] "m"(usual));
    result("MXCSR", sum, found == mxcsr);
    /* Single precision, rounds to zero, and no exception is masked. */
    uint16_t control = 0x0c40, control_found = 0;
    RUN("fldcw %[control]\n", "fnstcw %[found]\n fninit\n",
        [control] "m"(control), [found] "m"(control_found));
    result("x87 control", sum, control_found == control);
    double kept[8] = {0};
    RUN("fninit\n fld1\n fldpi\n fldl2e\n fldl2t\n fldlg2\n fldln2\n fldz\n fld1\n",
        "lea %[kept], %%rdx\n fstpl (%%rdx)\n fstpl 8(%%rdx)\n fstpl 16(%%rdx)\n fstpl 24(%%rdx)\n"
        "fstpl 32(%%rdx)\n fstpl 40(%%rdx)\n fstpl 48(%%rdx)\n fstpl 56(%%rdx)\n",
        [kept] "m"(kept));
    result("x87 stack", sum, kept[0] == 1 && kept[1] == 0 && kept[7] == 1 && kept[6] > 3.14159);
}
__attribute__((target("avx"))) static void vectors(void) {
    uint64_t sum;
    if (!__builtin_cpu_supports("avx")) {
        printf("vectors: right, kept\n");
        return;
    }
    float in[8] = {1, 2, 3, 4, 5, 6, 7, 8}, out[8] = {0};
    RUN("vmovups %[in], %%ymm7\n", "vmovups %%ymm7, %[out]\n vzeroupper\n", [in] "m"(in),
        [out] "m"(out));
    result("vectors", sum, memcmp(in, out, sizeof in) == 0);
}
/* The stack, the code and the data of a loop have a key of their own, which is what V8 does to its code; a
 * handler begins with all keys but 0 forbidden. */
static ucontext_t program, keyed;
static uint64_t keyed_sum, keyed_rights;
static int key;
typedef uint64_t step(uint64_t *);
/* Alone in a page. */
step code;
__asm__(".pushsection .text\n"
        ".p2align 12\n"
        ".type code, @function\n"
        "code: .cfi_startproc\n"
        "mov $" KEYED_STEPS ", %rcx\n"
        "xor %eax, %eax\n"
        "1: add (%rdi), %rax\n"
        "dec %rcx\n"
        "jnz 1b\n"
        "ret\n"
        ".cfi_endproc\n"
        ".size code, . - code\n"
        ".p2align 12\n"
        ".popsection");
static uint64_t *data;
static void with_key(void) {
    for (int i = 0; i < 40; i++) keyed_sum = code(data);
    keyed_rights = (uint64_t)pkey_get(key);
}
static volatile int handled;
static void on_signal(int signal) { handled += signal == SIGPROF; }
static void keys(void) {
    /* Without keys the same, for then there is nothing to go wrong. */
    key = pkey_alloc(0, 0);
    size_t size = 1 << 16;
    char *memory = mmap(NULL, 2 * size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    data = (uint64_t *)(memory + size);
    *data = 3;
    if (key >= 0) {
        pkey_mprotect(memory, 2 * size, PROT_READ | PROT_WRITE, key);
        pkey_mprotect(code, 4096, PROT_READ | PROT_EXEC, key);
    }
    /* The program's own handler does not touch that stack. */
    getcontext(&keyed);
    keyed.uc_stack.ss_sp = memory;
    keyed.uc_stack.ss_size = size;
    keyed.uc_link = &program;
    makecontext(&keyed, with_key, 0);
    swapcontext(&program, &keyed);
    printf("key: %s, %s\n", keyed_sum == 3ULL * (STEPS / 40) ? "right" : "WRONG",
           key < 0 || keyed_rights == 0 ? "kept" : "LOST");
    /* A loop that may read its data and not write them. */
    if (key >= 0) pkey_set(key, PKEY_DISABLE_WRITE);
    uint64_t sum = 0;
    for (int i = 0; i < 40; i++) sum += code(data);
    printf("read-only key: %s, %s\n", sum == 3ULL * STEPS ? "right" : "WRONG",
           key < 0 || pkey_get(key) == PKEY_DISABLE_WRITE ? "kept" : "LOST");
}
/* A handler of the program finds what the kernel gives it. */
static volatile uint64_t flags_found;
static volatile uint32_t rights_found, mxcsr_found;
static void look(int signal) {
    (void)signal;
    uint64_t found;
    __asm__ volatile("pushfq\n pop %0" : "=r"(found));
    flags_found = found;
    rights_found = key < 0 ? 0 : (uint32_t)pkey_get(key);
    __asm__ volatile("stmxcsr %0" : "=m"(mxcsr_found));
}
static void handlers(void) {
    for (int number = 0; number < 3; number++) {
        struct sigaction action = {.sa_handler = look, .sa_flags = number == 1 ? SA_ONSTACK : 0};
        int which = number == 2 ? SIGPROF : SIGUSR1;
        sigaction(which, &action, NULL);
        long self = gettid();
        __asm__ volatile("pushfq\n orl $0x40000, (%%rsp)\n popfq" ::: "memory", "cc");
        long answer;
        __asm__ volatile("syscall"
                         : "=a"(answer)
                         : "a"(200L), "D"(self), "S"((long)which)
                         : "rcx", "r11", "memory");
        __asm__ volatile("pushfq\n andl $~0x40000, (%%rsp)\n popfq" ::: "memory", "cc");
        printf("handler: alignment check %d, rights %d, MXCSR %x\n", (int)(flags_found >> 18 & 1),
               key < 0 ? PKEY_DISABLE_ACCESS : (int)rights_found, mxcsr_found);
    }
}
int main(void) {
    for (uint64_t i = STEPS; i; i--) {
        expected = expected + i + 1;
        expected = expected << 3 | expected >> 61;
    }
    flags();
    units();
    vectors();
    keys();
    handlers();
    return 0;
}
