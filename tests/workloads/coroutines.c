/* Coroutines: sixteen of them, made by makecontext or, with "assembly", by a switch of stacks as
 * libraries have it; each goes down ten frames and yields at the bottom. They are resumed in turn by
 * one thread, and then by four threads that pass them on, so that a coroutine goes up on another
 * thread than it went down. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

enum { COROUTINES = 16, THREADS = 4, STACK = 1 << 16, ROUNDS = 150, FRAMES = 10 };

static __thread volatile unsigned long sink;
__attribute__((noinline)) static void burn(unsigned long n) {
    unsigned long sum = 0;
    for (unsigned long i = 0; i < n; i++) sum += i ^ (sum >> 3);
    sink = sum;
}

struct coroutine {
    ucontext_t own, caller;
    void *own_sp, *caller_sp;
    char *stack;
    long returned;
    int done;
};

/* Keeps what a call keeps (psABI, figure 3.4), and goes on with another stack. */
void switch_stack(void **from, void *to);
__asm__(".text\n.globl switch_stack\n.type switch_stack,@function\nswitch_stack:\n"
        ".cfi_startproc\n"
        "push %rbp\n.cfi_adjust_cfa_offset 8\n"
        "push %rbx\n.cfi_adjust_cfa_offset 8\n"
        "push %r12\n.cfi_adjust_cfa_offset 8\n"
        "push %r13\n.cfi_adjust_cfa_offset 8\n"
        "push %r14\n.cfi_adjust_cfa_offset 8\n"
        "push %r15\n.cfi_adjust_cfa_offset 8\n"
        "mov %rsp, (%rdi)\nmov %rsi, %rsp\n"
        "pop %r15\n.cfi_adjust_cfa_offset -8\n"
        "pop %r14\n.cfi_adjust_cfa_offset -8\n"
        "pop %r13\n.cfi_adjust_cfa_offset -8\n"
        "pop %r12\n.cfi_adjust_cfa_offset -8\n"
        "pop %rbx\n.cfi_adjust_cfa_offset -8\n"
        "pop %rbp\n.cfi_adjust_cfa_offset -8\n"
        "ret\n"
        ".cfi_endproc\n.size switch_stack, .-switch_stack\n"
        /* Where a new stack begins: the coroutine is in rbx. */
        ".type begin_stack,@function\nbegin_stack:\n"
        ".cfi_startproc\n.cfi_undefined rip\n"
        "mov %rbx, %rdi\ncall begin\nud2\n"
        ".cfi_endproc\n.size begin_stack, .-begin_stack\n");
extern char begin_stack[];

static int by_assembly;

/* Not inlined: what it reads of the thread may be another's after the switch. */
__attribute__((noinline)) static void yield(struct coroutine *c) {
    if (by_assembly)
        switch_stack(&c->own_sp, c->caller_sp);
    else
        swapcontext(&c->own, &c->caller);
    __asm__ volatile("");
}

__attribute__((noinline)) static void resume(struct coroutine *c) {
    if (by_assembly)
        switch_stack(&c->caller_sp, c->own_sp);
    else
        swapcontext(&c->caller, &c->own);
    __asm__ volatile("");
}

__attribute__((noinline)) static int down(struct coroutine *c, int frames) {
    burn(1500);
    if (frames == 0) {
        yield(c);
        return 1;
    }
    int below = down(c, frames - 1);
    burn(1500);
    return below + 1;
}

__attribute__((used)) static void begin(struct coroutine *c) {
    for (int round = 0; round < ROUNDS; round++) c->returned += down(c, FRAMES);
    c->done = 1;
    yield(c);
    abort();
}

static void begin_context(unsigned high, unsigned low) {
    begin((struct coroutine *)((uintptr_t)high << 32 | low));
}

static void make(struct coroutine *c) {
    memset(c, 0, sizeof *c);
    c->stack = malloc(STACK);
    if (by_assembly) {
        void **top = (void **)((uintptr_t)(c->stack + STACK) & ~(uintptr_t)15);
        *--top = 0;
        *--top = begin_stack; /* with rsp aligned after the return into it */
        void **saved = top - 6;
        memset(saved, 0, 6 * sizeof *saved);
        saved[4] = c; /* rbx */
        c->own_sp = saved;
    } else {
        getcontext(&c->own);
        c->own.uc_stack.ss_sp = c->stack;
        c->own.uc_stack.ss_size = STACK;
        makecontext(&c->own, (void (*)(void))begin_context, 2, (unsigned)((uintptr_t)c >> 32),
                    (unsigned)(uintptr_t)c);
    }
}

static struct coroutine all[COROUTINES];

static long collect(void) {
    long returned = 0;
    for (int i = 0; i < COROUTINES; i++) {
        returned += all[i].done ? all[i].returned : -1000000;
        free(all[i].stack);
    }
    return returned;
}

static pthread_barrier_t barrier;

static void *resume_in_turn(void *number) {
    int mine = (int)(intptr_t)number;
    for (int round = 0; round <= ROUNDS; round++)
        for (int step = 0; step < THREADS; step++) {
            int part = (mine + step + round) % THREADS; /* never the same thread twice */
            if (step == 0)
                for (int i = part; i < COROUTINES; i += THREADS)
                    if (!all[i].done) resume(&all[i]);
            pthread_barrier_wait(&barrier);
        }
    return NULL;
}

int main(int count, char **arguments) {
    by_assembly = count > 1 && strcmp(arguments[1], "assembly") == 0;
    for (int i = 0; i < COROUTINES; i++) make(&all[i]);
    for (int round = 0; round <= ROUNDS; round++)
        for (int i = 0; i < COROUTINES; i++) resume(&all[i]);
    printf("one thread: returned %ld\n", collect());
    for (int i = 0; i < COROUTINES; i++) make(&all[i]);
    pthread_barrier_init(&barrier, NULL, THREADS);
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, resume_in_turn, (void *)(intptr_t)i);
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    printf("four threads: returned %ld\n", collect());
    return 0;
}
