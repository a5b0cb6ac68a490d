/* A function that burns CPU for several samples and keeps every register of its caller, as gcc's
 * -fipa-ra lets callers expect of functions they know: general registers, flags, the x87 stack and
 * its control word, mxcsr, and the vector and mask registers that the processor has. The caller
 * fills all of them, calls, and compares. */
#include <cpuid.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct state {
    uint64_t general[15]; /* without rsp */
    uint64_t flags;
    uint64_t masks[8];
    uint32_t mxcsr, unused;
    uint16_t control, also_unused[3];
    double x87[4];
    uint64_t last_unused[2];
    uint8_t vectors[32][64];
} __attribute__((aligned(64)));

uint64_t vector_bytes; /* 16, 32 or 64 */

/* Two frames that touch nothing but what they put back. */
__asm__(
    ".text\n.type inner,@function\ninner:\n.cfi_startproc\n"
    "push %rcx\n.cfi_adjust_cfa_offset 8\npushfq\n.cfi_adjust_cfa_offset 8\n"
    "mov $6000000, %ecx\n1: dec %ecx\njnz 1b\n"
    "popfq\n.cfi_adjust_cfa_offset -8\npop %rcx\n.cfi_adjust_cfa_offset -8\n"
    "ret\n.cfi_endproc\n.size inner, .-inner\n"
    ".type outer,@function\nouter:\n.cfi_startproc\n"
    "call inner\ncall inner\nret\n.cfi_endproc\n.size outer, .-outer\n");

#define GENERAL(action) action(rax, 0) action(rbx, 1) action(rcx, 2) action(rdx, 3) action(rsi, 4) \
    action(rbp, 5) action(r8, 6) action(r9, 7) action(r10, 8) action(r11, 9) action(r12, 10)       \
    action(r13, 11) action(r14, 12) action(r15, 13)
#define PUT(name, at) "mov 8*" #at "(%rdi), %" #name "\n"
#define GET(name, at) "mov %" #name ", 8*" #at "(%rdi)\n"
#define FLAGS "120"
#define MASKS "128"
#define MXCSR "192"
#define CONTROL "200"
#define X87 "208"
#define VECTORS "256"

void fill_call_store(const struct state *in, struct state *out);
__asm__(
    ".text\n.globl fill_call_store\n.type fill_call_store,@function\nfill_call_store:\n"
    ".cfi_startproc\n"
    "push %rbp\n.cfi_adjust_cfa_offset 8\npush %rbx\n.cfi_adjust_cfa_offset 8\n"
    "push %r12\n.cfi_adjust_cfa_offset 8\npush %r13\n.cfi_adjust_cfa_offset 8\n"
    "push %r14\n.cfi_adjust_cfa_offset 8\npush %r15\n.cfi_adjust_cfa_offset 8\n"
    "push %rsi\n.cfi_adjust_cfa_offset 8\n"
    "sub $16, %rsp\n.cfi_adjust_cfa_offset 16\n"
    "stmxcsr (%rsp)\nfnstcw 8(%rsp)\n"
    "cmpq $16, vector_bytes(%rip)\nje 2f\ncmpq $32, vector_bytes(%rip)\nje 1f\n"
    ".set i, 0\n.rept 32\n.altmacro\n.macro zmm n\nvmovdqa64 " VECTORS "+64*\\n(%rdi), %zmm\\n\n.endm\n"
    "zmm %i\n.purgem zmm\n.noaltmacro\n.set i, i+1\n.endr\n"
    ".set i, 0\n.rept 8\n.altmacro\n.macro mask n\nkmovw " MASKS "+8*\\n(%rdi), %k\\n\n.endm\n"
    "mask %i\n.purgem mask\n.noaltmacro\n.set i, i+1\n.endr\n"
    "jmp 3f\n"
    "1:\n.set i, 0\n.rept 16\n.altmacro\n.macro ymm n\nvmovdqa " VECTORS "+64*\\n(%rdi), %ymm\\n\n.endm\n"
    "ymm %i\n.purgem ymm\n.noaltmacro\n.set i, i+1\n.endr\n"
    "jmp 3f\n"
    "2:\n.set i, 0\n.rept 16\n.altmacro\n.macro xmm n\nmovdqa " VECTORS "+64*\\n(%rdi), %xmm\\n\n.endm\n"
    "xmm %i\n.purgem xmm\n.noaltmacro\n.set i, i+1\n.endr\n"
    "3:\n"
    "ldmxcsr " MXCSR "(%rdi)\nfldcw " CONTROL "(%rdi)\n"
    "fldl " X87 "+24(%rdi)\nfldl " X87 "+16(%rdi)\nfldl " X87 "+8(%rdi)\nfldl " X87 "(%rdi)\n"
    GENERAL(PUT)
    "pushq " FLAGS "(%rdi)\n.cfi_adjust_cfa_offset 8\npopfq\n.cfi_adjust_cfa_offset -8\n"
    "call outer\n"
    "pushfq\n.cfi_adjust_cfa_offset 8\n"
    "push %rdi\n.cfi_adjust_cfa_offset 8\n"
    "mov 32(%rsp), %rdi\n"
    GENERAL(GET)
    "pop %rax\n.cfi_adjust_cfa_offset -8\nmov %rax, 8*14(%rdi)\n"
    "popq " FLAGS "(%rdi)\n.cfi_adjust_cfa_offset -8\n"
    "cld\n"
    "fstpl " X87 "(%rdi)\nfstpl " X87 "+8(%rdi)\nfstpl " X87 "+16(%rdi)\nfstpl " X87 "+24(%rdi)\n"
    "stmxcsr " MXCSR "(%rdi)\nfnstcw " CONTROL "(%rdi)\n"
    "ldmxcsr (%rsp)\nfldcw 8(%rsp)\n"
    "cmpq $16, vector_bytes(%rip)\nje 2f\ncmpq $32, vector_bytes(%rip)\nje 1f\n"
    ".set i, 0\n.rept 32\n.altmacro\n.macro zmm n\nvmovdqa64 %zmm\\n, " VECTORS "+64*\\n(%rdi)\n.endm\n"
    "zmm %i\n.purgem zmm\n.noaltmacro\n.set i, i+1\n.endr\n"
    ".set i, 0\n.rept 8\n.altmacro\n.macro mask n\nkmovw %k\\n, " MASKS "+8*\\n(%rdi)\n.endm\n"
    "mask %i\n.purgem mask\n.noaltmacro\n.set i, i+1\n.endr\n"
    "vzeroupper\njmp 3f\n"
    "1:\n.set i, 0\n.rept 16\n.altmacro\n.macro ymm n\nvmovdqa %ymm\\n, " VECTORS "+64*\\n(%rdi)\n.endm\n"
    "ymm %i\n.purgem ymm\n.noaltmacro\n.set i, i+1\n.endr\n"
    "vzeroupper\njmp 3f\n"
    "2:\n.set i, 0\n.rept 16\n.altmacro\n.macro xmm n\nmovdqa %xmm\\n, " VECTORS "+64*\\n(%rdi)\n.endm\n"
    "xmm %i\n.purgem xmm\n.noaltmacro\n.set i, i+1\n.endr\n"
    "3:\n"
    "add $16, %rsp\n.cfi_adjust_cfa_offset -16\n"
    "pop %rsi\n.cfi_adjust_cfa_offset -8\n"
    "pop %r15\n.cfi_adjust_cfa_offset -8\npop %r14\n.cfi_adjust_cfa_offset -8\n"
    "pop %r13\n.cfi_adjust_cfa_offset -8\npop %r12\n.cfi_adjust_cfa_offset -8\n"
    "pop %rbx\n.cfi_adjust_cfa_offset -8\npop %rbp\n.cfi_adjust_cfa_offset -8\n"
    "ret\n.cfi_endproc\n.size fill_call_store, .-fill_call_store\n");

static void find_vectors(void) {
    unsigned a, b, c, d, low = 0;
    vector_bytes = 16;
    __cpuid(1, a, b, c, d);
    if (!(c & bit_OSXSAVE)) return;
    __asm__("xgetbv" : "=a"(low), "=d"(d) : "c"(0));
    __cpuid_count(7, 0, a, b, c, d);
    if ((low & 6) == 6 && (b & bit_AVX2)) vector_bytes = 32;
    if ((low & 0xe6) == 0xe6 && (b & bit_AVX512F)) vector_bytes = 64;
}

static uint64_t next(void) {
    static uint64_t state = 1;
    state = state * 6364136223846793005u + 1442695040888963407u;
    return state ^ state >> 31;
}

int main(void) {
    static struct state in, out;
    int wrong = 0;
    find_vectors();
    for (int round = 0; round < 60; round++) {
        for (int i = 0; i < 14; i++) in.general[i] = next();
        in.general[14] = (uint64_t)&in; /* rdi */
        /* Reserved bit 1, interrupts; carry, parity, adjust, zero, sign, direction, overflow. */
        in.flags = 0x202 | (next() & 0xcd5);
        for (int i = 0; i < 8; i++) in.masks[i] = next() & 0xffff;
        in.mxcsr = 0x1f80 | (next() & 0xe03f & ~0x40u);
        in.control = 0x37f | (uint16_t)(next() & 0xc00);
        for (int i = 0; i < 4; i++) in.x87[i] = (double)(next() >> 12);
        for (int i = 0; i < 32; i++)
            for (int j = 0; j < 64; j += 8) *(uint64_t *)&in.vectors[i][j] = next();
        memset(&out, 0, sizeof out);
        fill_call_store(&in, &out);
        int registers = vector_bytes == 64 ? 32 : 16, masks = vector_bytes == 64;
        wrong += memcmp(in.general, out.general, sizeof in.general) != 0;
        wrong += (in.flags ^ out.flags) != 0;
        wrong += masks && memcmp(in.masks, out.masks, sizeof in.masks) != 0;
        wrong += in.mxcsr != out.mxcsr;
        wrong += in.control != out.control;
        wrong += memcmp(in.x87, out.x87, sizeof in.x87) != 0;
        for (int i = 0; i < registers; i++)
            wrong += memcmp(in.vectors[i], out.vectors[i], vector_bytes) != 0;
    }
    printf("wrong %d\n", wrong);
    return 0;
}
