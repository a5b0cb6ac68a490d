/* System calls from outside a range go to a handler of the program's (syscall user dispatch), which
 * counts them: none but the program's own come. Entered by prctl(2) or by syscall(2). */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef PR_SET_SYSCALL_USER_DISPATCH
#define PR_SET_SYSCALL_USER_DISPATCH 59
#endif

static volatile char selector;
static volatile int calls;

static void on_call(int number, siginfo_t *info, void *context) {
    (void)number, (void)info, (void)context;
    selector = 0;
    calls++;
}

static unsigned long burn(unsigned long rounds) {
    volatile unsigned long sum = 0;
    for (unsigned long i = 0; i < rounds; i++)
        sum += i;
    return sum;
}

int main(int argc, char **argv) {
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_sigaction = on_call;
    action.sa_flags = SA_SIGINFO;
    sigaction(SIGSYS, &action, NULL);
    burn(20000000);
    int result = argc > 1 && strcmp(argv[1], "syscall") == 0
        ? (int)syscall(SYS_prctl, PR_SET_SYSCALL_USER_DISPATCH, 1L, 0L, 0L, &selector)
        : prctl(PR_SET_SYSCALL_USER_DISPATCH, 1L, 0L, 0L, &selector);
    if (result != 0) {
        printf("calls: 1\n");
        return 0;
    }
    selector = 1;
    burn(200000000);
    getppid();
    prctl(PR_SET_SYSCALL_USER_DISPATCH, 0L, 0L, 0L, 0L);
    printf("calls: %d\n", calls);
    return 0;
}
