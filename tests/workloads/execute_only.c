/* Code that may be executed and not read. Prints how often it has computed what it should. */
#define _GNU_SOURCE
#include <stdio.h>
#include <sys/mman.h>

__attribute__((noipa, aligned(4096))) static unsigned long hidden(unsigned long n) {
    unsigned long sum = 0;
    for (unsigned long i = 0; i < n; i++) {
        sum += i ^ (sum >> 3);
        __asm__ volatile("" : "+r"(sum));
    }
    return sum;
}
__attribute__((noinline)) static unsigned long calls_hidden(unsigned long n) {
    return hidden(n) + 1;
}
/* What lies in the same page. */
__attribute__((aligned(4096))) static void behind(void) {}

int main(void) {
    unsigned long expected = calls_hidden(1000000);
    /* Without protection keys in the processor it can be read all the same. */
    if (mprotect((void *)hidden, (size_t)((char *)behind - (char *)hidden), PROT_EXEC) != 0) {
        perror("mprotect");
        return 1;
    }
    int right = 0;
    for (int i = 0; i < 200; i++) right += calls_hidden(1000000) == expected;
    printf("hidden code: right %d times\n", right);
    return 0;
}
