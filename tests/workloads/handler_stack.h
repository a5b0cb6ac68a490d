/* How much of its own stack csprof's handler has used, measured when the program ends: the kernel knows that stack as the
 * thread's alternate one. It is wiped before `main`, for the start of the thread has left words there; a sample that comes
 * meanwhile has ended. Complains if it is more than is promised
 * (`NEEDED` in collector/src/thread/handler_stack.rs) beside the kernel's frame. Alone there is none. */
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include "kernel_call.h"

static size_t kernels_frame;
static void measure_frame(int, siginfo_t *, void *);
static void measure_frame(int signal, siginfo_t *info, void *context) {
    ucontext_t *interrupted = (ucontext_t *)context;
    char *registers = (char *)interrupted->uc_mcontext.fpregs;
    /* struct _fpx_sw_bytes, asm/sigcontext.h */
    kernels_frame = (size_t)(registers + *(uint32_t *)(registers + 468) - (char *)context) + 72;
    (void)signal, (void)info;
}
enum { NEEDED = 8 << 10 };
__attribute__((constructor)) static void wipe_handler_stack(void) {
    stack_t stack;
    if (kernel_call(SYS_sigaltstack, 0, &stack, NULL, 0) || stack.ss_flags & SS_DISABLE) return;
    volatile char *low = (volatile char *)stack.ss_sp - NEEDED;
    volatile char *top = (volatile char *)stack.ss_sp + stack.ss_size;
    while (low < top) *low++ = 0;
}
__attribute__((destructor)) static void look_at_handler_stack(void) {
    stack_t stack;
    if (kernel_call(SYS_sigaltstack, 0, &stack, NULL, 0) || stack.ss_flags & SS_DISABLE) return;
    const char *low = (const char *)stack.ss_sp - NEEDED;
    const char *top = (const char *)stack.ss_sp + stack.ss_size;
    while (low < top && !*low) low++;
    struct sigaction action;
    sigemptyset(&action.sa_mask);
    action.sa_sigaction = measure_frame;
    action.sa_flags = SA_SIGINFO;
    sigaction(SIGWINCH, &action, NULL);
    raise(SIGWINCH);
    size_t used = (size_t)(top - low);
#ifdef TELL
    fprintf(stderr, "%zu bytes, of which %zu are the kernel's\n", used, kernels_frame);
#endif
    if (used > NEEDED + kernels_frame)
        fprintf(stderr, "csprof's handlers use %zu bytes of their stack\n", used);
}
