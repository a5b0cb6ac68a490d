/* Functions in the shape of matrix kernels, in assembly without a word for unwinders: their loops follow one
 * another, each left in its middle and closed by a jump; the stack is aligned to a page, the frame is known by
 * rbx or by a word on that stack, and the frame pointer counts, by which the caller in C knows its own. */
#include <alloca.h>
#include <stdio.h>
#include <string.h>

#include "handler_stack.h"

enum { LOOPS = 20, COUNT = 400 };

volatile unsigned long sink;
__attribute__((noinline, used)) void burn(unsigned long n) {
    unsigned long sum = 0;
    for (unsigned long i = 0; i < n; i++) sum += i ^ (sum >> 3);
    sink = sum;
}

/* Adds the numbers up to the first word on the stack to rax, so many times. */
#define ADD_UP \
    ".rept 20\nmov (%rsp), %rbp\n" \
    "1: add %rbp, %rax\nmov %rax, %r12\nmov %rbp, %r15\ndec %rbp\njz 2f\nadd %rbp, %rax\ndec %rbp\njz 2f\njmp 1b\n2:\n.endr\n"
#define FUNCTION(name) ".globl " name "\n.type " name ",@function\n" name ":\n"
__asm__(".text\n"
        FUNCTION("frame_in_rbx")
        "sub $96, %rsp\nmov %rbx, (%rsp)\nmov %rbp, 8(%rsp)\nmov %r12, 16(%rsp)\nmov %r15, 24(%rsp)\n"
        "mov %rsp, %rbx\nsub $8320, %rsp\nand $-4096, %rsp\nmov %rdi, (%rsp)\nxor %eax, %eax\n" ADD_UP
        "mov %rax, 8(%rsp)\nxor %ebp, %ebp\nmov $3000, %edi\ncall burn\nmov 8(%rsp), %rax\n" ADD_UP
        "mov %rbx, %rsp\nmov (%rsp), %rbx\nmov 8(%rsp), %rbp\nmov 16(%rsp), %r12\nmov 24(%rsp), %r15\n"
        "add $96, %rsp\nret\n.size frame_in_rbx, .-frame_in_rbx\n"
        FUNCTION("frame_on_stack")
        "push %rbp\npush %r12\npush %r15\nmov %rsp, %rax\nsub $128, %rsp\nand $-4096, %rsp\n"
        "mov %rax, 64(%rsp)\nmov %rdi, (%rsp)\nxor %eax, %eax\n" ADD_UP
        "mov %rax, 8(%rsp)\nxor %ebp, %ebp\nmov $3000, %edi\ncall burn\nmov 8(%rsp), %rax\n" ADD_UP
        "mov 64(%rsp), %rsp\npop %r15\npop %r12\npop %rbp\nret\n.size frame_on_stack, .-frame_on_stack\n");
long frame_in_rbx(long count), frame_on_stack(long count);

/* Its frame has a size that only the run decides: it is found by the frame pointer. */
__attribute__((noinline)) static int with_room(int frames, unsigned size) {
    char *room = alloca(size);
    memset(room, 0, size);
    long expected = 2L * LOOPS * COUNT * (COUNT + 1) / 2;
    int wrong = frame_in_rbx(COUNT) != expected;
    wrong += frame_on_stack(COUNT) != expected;
    wrong += frames > 0 ? with_room(frames - 1, size * 5 % 4093 + 1) : 0;
    return wrong + room[size - 1];
}

int main(void) {
    int wrong = 0;
    for (int round = 0; round < 3000; round++) wrong += with_room(9, 100 + round);
    printf("wrong %d\n", wrong);
    return 0;
}
