/* A system call by an instruction of the program's own: csprof is in front of syscall(2). Returns what the kernel answers,
 * where -4095 to -1 are errors (syscall(2), "Architecture calling conventions"). */
#pragma once

static inline long kernel_call(long number, long first, const void *second, const void *third, long fourth) {
    long result;
    register long r10 __asm__("r10") = fourth;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(first), "S"(second), "d"(third), "r"(r10)
                     : "rcx", "r11", "memory");
    return result;
}
