/* What a call leaves on the stack is not always what a return takes: callees that pop their arguments, calls that
 * ask where they are, words that only look like return addresses, call frame information that is wrong. What
 * the program reads there must be what the processor put there. */
#include <stdio.h>

static volatile unsigned long sink;
__attribute__((noinline, used)) void burn(unsigned long n) {
    unsigned long sum = 0;
    for (unsigned long i = 0; i < n; i++) sum += i ^ (sum >> 3);
    sink = sum;
}

#define SPIN(label) "mov $400, %ecx\n" label ": dec %ecx\njnz " label "b\n"
__asm__(
    ".text\n"
    /* long popping(long frames): calls itself with an argument on the stack, which the callee takes away. */
    ".type pops_one, @function\npops_one:\n.cfi_startproc\n"
    "push %rbx\n.cfi_adjust_cfa_offset 8\n.cfi_offset %rbx, -16\n"
    "mov 16(%rsp), %rbx\n" SPIN("1")
    "xor %eax, %eax\ntest %rbx, %rbx\njz 2f\n"
    "lea -1(%rbx), %rdx\nsub $8, %rsp\n.cfi_adjust_cfa_offset 8\npush %rdx\n.cfi_adjust_cfa_offset 8\n"
    "call pops_one\n.cfi_adjust_cfa_offset -8\n"
    "add $8, %rsp\n.cfi_adjust_cfa_offset -8\n"
    "2:\ninc %rax\npush %rax\n.cfi_adjust_cfa_offset 8\nmov $100, %edi\n"
    "push %rbp\n.cfi_adjust_cfa_offset 8\nmov %rsp, %rbp\n.cfi_def_cfa_register %rbp\n"
    "and $-16, %rsp\ncall burn\nmov %rbp, %rsp\n.cfi_def_cfa_register %rsp\n"
    "pop %rbp\n.cfi_adjust_cfa_offset -8\npop %rax\n.cfi_adjust_cfa_offset -8\n"
    "pop %rbx\n.cfi_adjust_cfa_offset -8\n.cfi_same_value %rbx\n"
    "ret $8\n.cfi_endproc\n.size pops_one, .-pops_one\n"
    ".globl popping\n.type popping, @function\npopping:\n.cfi_startproc\n"
    "push %rdi\n.cfi_adjust_cfa_offset 8\ncall pops_one\n.cfi_adjust_cfa_offset -8\n"
    "ret\n.cfi_endproc\n.size popping, .-popping\n"
    /* long asks(long rounds): a call to the next instruction, and where the word that it leaves leads. */
    ".globl asks\n.type asks, @function\nasks:\n.cfi_startproc\n"
    "xor %eax, %eax\nlea 4f(%rip), %rsi\n"
    "3:\ncall 4f\n4:\n.cfi_adjust_cfa_offset 8\n"
    "mov $20, %ecx\n5: dec %ecx\njnz 5b\n"
    "pop %rdx\n.cfi_adjust_cfa_offset -8\ncmp %rsi, %rdx\nje 6f\ninc %rax\n6:\n"
    "dec %rdi\njnz 3b\nret\n.cfi_endproc\n.size asks, .-asks\n"
    /* long inlined(long rounds): the same over data that lies behind the call. */
    ".globl inlined\n.type inlined, @function\ninlined:\n.cfi_startproc\n"
    "xor %eax, %eax\nlea 8f(%rip), %rsi\n"
    "7:\ncall 9f\n8: .ascii \"of which the address is asked for\"\n9:\n.cfi_adjust_cfa_offset 8\n"
    "mov $20, %ecx\n10: dec %ecx\njnz 10b\n"
    "pop %rdx\n.cfi_adjust_cfa_offset -8\ncmp %rsi, %rdx\nje 11f\ninc %rax\n11:\n"
    "dec %rdi\njnz 7b\nret\n.cfi_endproc\n.size inlined, .-inlined\n"
    /* long at_once(long rounds): the word is taken at once, as position-independent code does. */
    ".globl at_once\n.type at_once, @function\nat_once:\n.cfi_startproc\n"
    "xor %eax, %eax\nlea 13f(%rip), %rsi\n"
    "12:\ncall 13f\n13: pop %rdx\ncmp %rsi, %rdx\nje 14f\ninc %rax\n14:\n"
    "dec %rdi\njnz 12b\nret\n.cfi_endproc\n.size at_once, .-at_once\n"
    /* long undescribed(long rounds): an address behind a call, pushed without a word of it, so that it is
     * where the call frame information has the return address. */
    ".globl undescribed\n.type undescribed, @function\nundescribed:\n.cfi_startproc\n"
    "xor %eax, %eax\nlea 17f(%rip), %rsi\n"
    "15:\npush %rsi\nmov $20, %ecx\n16: dec %ecx\njnz 16b\n"
    "pop %rdx\ncmp %rsi, %rdx\nje 18f\ninc %rax\njmp 18f\n"
    "call undescribed\n17: nop\n18:\n"
    "dec %rdi\njnz 15b\nret\n.cfi_endproc\n.size undescribed, .-undescribed\n"
    /* long thunks(long rounds): a function that tells its caller where it is, and returns. */
    ".type tells, @function\ntells:\n.cfi_startproc\nmov (%rsp), %rdx\nret\n.cfi_endproc\n.size tells, .-tells\n"
    ".globl thunks\n.type thunks, @function\nthunks:\n.cfi_startproc\n"
    "xor %eax, %eax\nlea 20f(%rip), %rsi\n"
    "19:\ncall tells\n20: cmp %rsi, %rdx\nje 21f\ninc %rax\n21:\n"
    "dec %rdi\njnz 19b\nret\n.cfi_endproc\n.size thunks, .-thunks\n"
    /* long jumps_back(long rounds): functions that pop their return address and jump to it. */
    ".type leaves, @function\nleaves:\n.cfi_startproc\npop %rdx\n.cfi_adjust_cfa_offset -8\n"
    ".cfi_register %rip, %rdx\nmov $20, %ecx\n22: dec %ecx\njnz 22b\njmp *%rdx\n"
    ".cfi_endproc\n.size leaves, .-leaves\n"
    ".globl jumps_back\n.type jumps_back, @function\njumps_back:\n.cfi_startproc\n"
    "xor %eax, %eax\nlea 24f(%rip), %rsi\n"
    "23:\ncall leaves\n24: cmp %rsi, %rdx\nje 25f\ninc %rax\n25:\n"
    "dec %rdi\njnz 23b\nret\n.cfi_endproc\n.size jumps_back, .-jumps_back\n");
long popping(long), asks(long), inlined(long), at_once(long), undescribed(long), thunks(long),
    jumps_back(long);

int main(void) {
    long frames = 0, wrong[6] = {0};
    for (int round = 0; round < 300; round++) {
        frames += popping(60);
        wrong[0] += asks(3000);
        wrong[1] += inlined(3000);
        wrong[2] += at_once(60000);
        wrong[3] += undescribed(3000);
        wrong[4] += thunks(60000);
        wrong[5] += jumps_back(3000);
    }
    printf("%ld frames, asks %ld, inlined %ld, at once %ld, undescribed %ld, thunks %ld, jumps back %ld\n",
           frames, wrong[0], wrong[1], wrong[2], wrong[3], wrong[4], wrong[5]);
    return 0;
}
