/* Code in anonymous memory, without a word for unwinders: with a frame pointer, with none, with rbp pointing into the
 * stack to what looks like a frame, and with a way out that only the run decides. Each calls back into C, also nested,
 * and one calls a function of its own all the time. Prints what came back. */
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "handler_stack.h"

volatile unsigned long sink;
#define BURN(name)                                                                                 \
    __attribute__((noinline, noclone)) void name(unsigned long n) {                                \
        unsigned long sum = __LINE__;                                                              \
        for (unsigned long i = 0; i < n; i++) sum += i ^ (sum >> 3);                               \
        sink = sum;                                                                                \
    }
BURN(burn_framed)
BURN(burn_plain)
BURN(burn_general)
BURN(burn_jumping)
BURN(burn_unframed)
BURN(burn_nested)
BURN(burn_aligned)

/* Each calls its first argument with the second. */
#define CODE(name, text)                                                                           \
    extern const char name##_start[], name##_end[];                                                \
    __asm__(".text\n" #name "_start:\n" text #name "_end:\n");
CODE(framed, "push %rbp\nmov %rsp, %rbp\nmov %rdi, %rax\nmov %rsi, %rdi\ncall *%rax\n"
             "mov $1, %eax\npop %rbp\nret\n")
CODE(plain, "sub $8, %rsp\nmov %rdi, %rax\nmov %rsi, %rdi\ncall *%rax\n"
            "mov $2, %eax\nadd $8, %rsp\nret\n")
/* rbp points to a pointer upwards and a return address that was valid: the caller's. */
CODE(general, "push %rbp\npush %rbx\nsub $40, %rsp\nlea 8(%rsp), %rbp\nlea 112(%rsp), %rax\n"
              "mov %rax, (%rbp)\nmov 56(%rsp), %rax\nmov %rax, 8(%rbp)\nmov %rdi, %rax\n"
              "mov %rsi, %rdi\ncall *%rax\nmov $4, %eax\nadd $40, %rsp\npop %rbx\npop %rbp\nret\n")
CODE(jumping, "push %rbp\nmov %rsp, %rbp\nsub $16, %rsp\nmovq $0, -8(%rbp)\nlea 1f(%rip), %rax\n"
              "mov %rax, -16(%rbp)\nmov %rdi, %rax\nmov %rsi, %rdi\ncall *%rax\n"
              "mov -16(%rbp), %rax\njmp *%rax\n.fill 4000, 1, 0x90\n1: mov $8, %eax\nleave\nret\n")
/* The same with the caller's rbp. */
CODE(unframed, "sub $8, %rsp\nlea 1f(%rip), %rax\nmov %rax, (%rsp)\nmov %rdi, %rax\n"
               "mov %rsi, %rdi\ncall *%rax\nmov (%rsp), %rax\njmp *%rax\n"
               ".fill 4000, 1, 0x90\n1: mov $16, %eax\nadd $8, %rsp\nret\n")
CODE(tight, "push %rbx\nmov %rsi, %rbx\n1: call 2f\ndec %rbx\njnz 1b\nmov $32, %eax\npop %rbx\nret\n"
            "2: push %rbp\nmov %rsp, %rbp\npush %rbx\nnop\npop %rbx\nleave\nret\n")

/* Has its frame in rbx, which what it calls must restore. Calls its first argument with the others. */
int aligned(int (*)(void (*)(unsigned long), unsigned long), void (*)(unsigned long), unsigned long);
__asm__(".text\n.globl aligned\n.type aligned,@function\naligned:\n.cfi_startproc\n"
        "push %rbx\n.cfi_def_cfa_offset 16\n.cfi_offset %rbx, -16\nmov %rsp, %rbx\n"
        ".cfi_def_cfa_register %rbx\nand $-64, %rsp\nmov %rdi, %rax\nmov %rsi, %rdi\n"
        "mov %rdx, %rsi\ncall *%rax\nmov %rbx, %rsp\n.cfi_def_cfa_register %rsp\npop %rbx\n"
        ".cfi_restore %rbx\n.cfi_def_cfa_offset 8\nret\n.cfi_endproc\n.size aligned, .-aligned\n");

typedef int Made(void (*)(unsigned long), unsigned long);
static char *room;
static Made *make(const char *start, const char *end) {
    char *place = room;
    memcpy(place, start, end - start);
    room += (end - start + 63) & ~63L;
    return (Made *)place;
}

/* How often each burns: another number each round, or samples taken as regularly as rounds begin would all meet the same
 * function. */
static unsigned long times;
static Made *made[6];
#define VIA(name, place)                                                                           \
    __attribute__((noinline, noclone)) static int via_##name(void) {                               \
        return made[place](burn_##name, times) + 1;                                                \
    }
VIA(framed, 0)
VIA(plain, 1)
VIA(general, 2)
VIA(jumping, 3)
VIA(unframed, 4)
#define burn_tight 0
VIA(tight, 5)
__attribute__((noinline, noclone)) static int via_aligned(void) {
    return aligned(made[2], burn_aligned, times) + 1;
}
__attribute__((noinline, noclone)) static void inner(unsigned long n) {
    sink += made[1](burn_nested, n);
}
__attribute__((noinline, noclone)) static int via_nested(void) {
    return made[0](inner, times) + made[2](inner, times);
}

int main(void) {
    size_t size = 1 << 16;
    room = mmap(0, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (room == MAP_FAILED) return 1;
    char *first = room;
    made[0] = make(framed_start, framed_end);
    made[1] = make(plain_start, plain_end);
    made[2] = make(general_start, general_end);
    made[3] = make(jumping_start, jumping_end);
    made[4] = make(unframed_start, unframed_end);
    made[5] = make(tight_start, tight_end);
    if (mprotect(first, size, PROT_READ | PROT_EXEC)) return 1;
    int sum = 0;
    unsigned random = 1;
    for (int round = 0; round < 4000; round++) {
        random = random * 1103515245 + 12345;
        times = 10000 + random / 65536 % 20000;
        sum += via_framed() + via_plain() + via_general() + via_jumping() + via_unframed();
        sum += via_tight() + via_nested() + via_aligned();
    }
    printf("%d\n", sum);
    return 0;
}
