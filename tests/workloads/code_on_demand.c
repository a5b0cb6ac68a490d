/* Code that cannot be read until it is called, when a handler of SIGSEGV makes it accessible and works a
 * while before. Prints how often it has computed what it should. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>

#define BEHIND ((size_t)((char *)behind - (char *)hidden))

__attribute__((noipa, aligned(4096))) static unsigned long hidden(unsigned long n) { return n * 3; }
__attribute__((noinline)) static unsigned long calls_hidden(unsigned long n) {
    return hidden(n) + 1;
}
/* What lies in the next page. */
__attribute__((aligned(4096))) static void behind(void) {}

static volatile unsigned long sink;
__attribute__((noinline)) static void work(unsigned long n) {
    unsigned long sum = 0;
    for (unsigned long i = 0; i < n; i++) {
        sum += i ^ (sum >> 3);
        __asm__ volatile("" : "+r"(sum));
    }
    sink = sum;
}
static void on_fault(int signal) {
    work(10000000);
    mprotect((void *)hidden, BEHIND, PROT_READ | PROT_EXEC);
    (void)signal;
}

int main(void) {
    int right = 0;
    signal(SIGSEGV, on_fault);
    for (int i = 0; i < 40; i++) {
        if (mprotect((void *)hidden, BEHIND, PROT_NONE) != 0) {
            perror("mprotect");
            return 1;
        }
        right += calls_hidden(i) == 3UL * i + 1;
    }
    printf("hidden code: right %d times\n", right);
    return 0;
}
