/* Functions in assembly without a word for unwinders: one keeps the frame pointer, one uses it for a
 * counter, one has pushed something else. Each calls back into C, and burns CPU itself. */
#include <stdio.h>

#include "handler_stack.h"

volatile unsigned long sink;
__attribute__((noinline, used)) void burn(unsigned long n) {
    unsigned long sum = 0;
    for (unsigned long i = 0; i < n; i++) sum += i ^ (sum >> 3);
    sink = sum;
}

#define SPIN(label) "mov $30000, %ecx\n" label ": dec %ecx\njnz " label "b\n"
__asm__(".text\n"
        ".globl with_frame_pointer\n.type with_frame_pointer,@function\nwith_frame_pointer:\n"
        "push %rbp\nmov %rsp, %rbp\nsub $32, %rsp\n" SPIN("1")
        "mov $30000, %edi\ncall burn\n" SPIN("2")
        "leave\nmov $1, %eax\nret\n.size with_frame_pointer, .-with_frame_pointer\n"
        ".globl with_counter\n.type with_counter,@function\nwith_counter:\n"
        "push %rbp\npush %rbx\nsub $8, %rsp\nmov $3, %ebp\n"
        "3:\n" SPIN("4") "mov $10000, %edi\ncall burn\ndec %ebp\njnz 3b\n"
        "add $8, %rsp\npop %rbx\npop %rbp\nmov $2, %eax\nret\n.size with_counter, .-with_counter\n"
        ".globl with_nothing\n.type with_nothing,@function\nwith_nothing:\n"
        "sub $8, %rsp\n" SPIN("5") "mov $30000, %edi\ncall burn\n" SPIN("6")
        "add $8, %rsp\nmov $4, %eax\nret\n.size with_nothing, .-with_nothing\n");
int with_frame_pointer(void), with_counter(void), with_nothing(void);

__attribute__((noinline)) static int all(int frames) {
    int below = frames > 0 ? all(frames - 1) : 0;
    below += with_frame_pointer();
    below += with_counter();
    below += with_nothing();
    return below;
}

int main(void) {
    int sum = 0;
    for (int round = 0; round < 150; round++) sum += all(9);
    printf("%d\n", sum);
    return 0;
}
