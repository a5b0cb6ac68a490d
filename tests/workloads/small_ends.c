/* small_ends (execute|end): a SIGSEGV handler on an alternate stack of 8192 bytes (SIGSTKSZ) executes
 * another program, as reporters of crashes do, or ends this one; a coroutine on a stack of the same
 * size does it where there are two arguments. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

enum { SIZE = 8192, PAGE = 4096 };

static int executes;
static ucontext_t coroutine, here;

static void end(void) {
    if (executes) execl("/bin/echo", "echo", "reported", (char *)NULL);
    exit(3);
}

static void handle(int signal) {
    (void)signal;
    end();
}

int main(int count, char **arguments) {
    char *stack = mmap(NULL, SIZE + PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    mprotect(stack + PAGE, SIZE, PROT_READ | PROT_WRITE);
    executes = arguments[1][1] == 'x';
    if (count > 2) {
        getcontext(&coroutine);
        coroutine.uc_stack.ss_sp = stack + PAGE;
        coroutine.uc_stack.ss_size = SIZE;
        makecontext(&coroutine, end, 0);
        swapcontext(&here, &coroutine);
    }
    stack_t alternate = {.ss_sp = stack + PAGE, .ss_size = SIZE};
    struct sigaction action = {.sa_handler = handle, .sa_flags = SA_ONSTACK};
    sigaltstack(&alternate, NULL);
    sigaction(SIGSEGV, &action, NULL);
    *(volatile int *)8 = 1;
    return 0;
}
