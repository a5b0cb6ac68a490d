/* Jumps of every kind, out of loops and signal handlers, through frames that burn CPU: setjmp,
 * _setjmp, sigsetjmp with and without the mask; out of handlers of a raised signal, of a fault, of
 * a timer, on the thread's stack and on an alternate one; in four threads at once. Local variables
 * and the mask are as the standard has them. Built with -D_FORTIFY_SOURCE=2 it calls __longjmp_chk. */
#define _GNU_SOURCE
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { ROUNDS = 300, THREADS = 4 };

static __thread volatile unsigned long sink;
__attribute__((noinline)) static void burn(unsigned long n) {
    unsigned long sum = 0;
    for (unsigned long i = 0; i < n; i++) sum += i ^ (sum >> 3);
    sink = sum;
}

static __thread jmp_buf plain;
static __thread sigjmp_buf masked;
static int *volatile nowhere;

static void leave_plain(int value) { longjmp(plain, value); }
static void leave_bsd(int value) { _longjmp(plain, value); }
static void leave_masked(int value) { siglongjmp(masked, value); }
static void leave_raised(int value) { (void)value; raise(SIGUSR1); }
static void leave_alternate(int value) { (void)value; raise(SIGUSR2); }
static void leave_faulting(int value) { *nowhere = value; }

__attribute__((noinline)) static int down(int frames, void (*leave)(int), int value) {
    burn(1000);
    if (frames == 0) {
        leave(value);
        return 1000000;
    }
    int below = down(frames - 1, leave, value);
    burn(1000);
    return below + 1;
}

static void handler(int signal) {
    burn(1000);
    siglongjmp(masked, signal);
}

static int blocked(void) {
    sigset_t now;
    pthread_sigmask(SIG_BLOCK, NULL, &now);
    return sigismember(&now, SIGUSR1) + sigismember(&now, SIGUSR2) + sigismember(&now, SIGSEGV);
}

struct result { long sum, kept, blocked; };

__attribute__((noinline)) static void once(int round, struct result *result) {
    volatile int last = 0;
    int constant = round * 3;
    int value = setjmp(plain);
    if (value < 5) down(8 + value, value % 2 ? leave_plain : leave_bsd, value + 1);
    result->sum += value;
    last = value;
    value = sigsetjmp(masked, 0);
    if (value < 4) down(5, leave_masked, value + 1);
    result->sum += value;
    if (sigsetjmp(masked, 1) == 0) down(round % 12, leave_raised, 1);
    else result->sum++;
    result->blocked += blocked();
    if (sigsetjmp(masked, 1) == 0) down(7, leave_alternate, 1);
    else result->sum++;
    result->blocked += blocked();
    if (sigsetjmp(masked, 1) == 0) down(6, leave_faulting, 1);
    else result->sum++;
    result->blocked += blocked();
    result->kept += last == 5 && constant == round * 3;
}

static void *worker(void *out) {
    stack_t stack = {.ss_size = 65536, .ss_sp = malloc(65536)}, none = {.ss_flags = SS_DISABLE};
    sigaltstack(&stack, NULL);
    for (int round = 0; round < ROUNDS; round++) once(round, out);
    sigaltstack(&none, NULL);
    free(stack.ss_sp);
    return out;
}

int main(void) {
    struct sigaction action = {.sa_handler = handler};
    sigaction(SIGUSR1, &action, NULL);
    sigaction(SIGSEGV, &action, NULL);
    sigfillset(&action.sa_mask);
    action.sa_flags = SA_ONSTACK;
    sigaction(SIGUSR2, &action, NULL);
    pthread_t threads[THREADS];
    struct result results[THREADS] = {{0, 0, 0}};
    for (int i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, worker, &results[i]);
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    for (int i = 0; i < THREADS; i++)
        printf("sum %ld, kept %ld, blocked %ld\n", results[i].sum, results[i].kept,
               results[i].blocked);
    return 0;
}
