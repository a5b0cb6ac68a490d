/* Works on without the kernel's code in the process, by which clocks are read without a system call,
 * or where the instruction that this code reads the clock by is forbidden, of which nobody is told:
 *
 *     program [forbidden]
 */
#include <elf.h>
#include <link.h>
#include <stdio.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>

static volatile unsigned long counted;

static long call(long number, long a, long b) {
    long result;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(0L)
                     : "rcx", "r11", "memory");
    return result;
}

__attribute__((noinline)) static void work(void) {
    struct timespec now = {0, 0};
    while (now.tv_sec == 0 && now.tv_nsec < 500000000) {
        for (long i = 0; i < 100000; i++)
            counted = counted * 3 + 1;
        call(SYS_clock_gettime, CLOCK_PROCESS_CPUTIME_ID, (long)&now);
    }
}

int main(int count, char **arguments) {
    (void)arguments;
    if (count > 1) {
        if (call(SYS_prctl, PR_SET_TSC, PR_TSC_SIGSEGV)) return 1;
    } else {
        const char *code = (const char *)getauxval(AT_SYSINFO_EHDR);
        const Elf64_Ehdr *header = (const void *)code;
        const Elf64_Phdr *segments = (const void *)(code + header->e_phoff);
        unsigned long size = 0;
        for (int i = 0; i < header->e_phnum; i++)
            if (segments[i].p_type == PT_LOAD)
                size = segments[i].p_vaddr + segments[i].p_memsz;
        if (munmap((void *)code, (size + 4095) & ~4095UL)) return 2;
    }
    work();
    puts("worked");
    return 0;
}
