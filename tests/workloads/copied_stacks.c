/* Tasks that take turns on one stack: what a task has on it is copied away when it waits, and copied back when it
 * goes on, as greenlets and Scheme's continuations do it. So a return address that was replaced in the meantime is
 * copied, overwritten by another task's, replaced again, and comes back later. One task goes on twice from the
 * same copy. The registers are kept by setjmp, or with "assembly" by code that nobody knows. Where there is a
 * timer to stand in for, samples are taken right before and after the copies. */
#define _GNU_SOURCE
#include <pthread.h>
#include <setjmp.h>
#include <stdlib.h>
#include <alloca.h>

#include "own_samples.h"

enum { TASKS = 12, FRAMES = 9, ROUNDS = 20, ROOM = 1 << 14 };

static __thread volatile unsigned long sink;
__attribute__((noinline)) static void burn(unsigned long n) {
    unsigned long sum = 0;
    for (unsigned long i = 0; i < n; i++) sum += i ^ (sum >> 3);
    sink = sum;
}

/* What a call keeps, the stack pointer, and where to go on. */
struct registers {
    void *words[8];
};
int keep(struct registers *r) __attribute__((returns_twice));
void go_on(struct registers *r, int value) __attribute__((noreturn));
__asm__(".text\n.type keep, @function\n.globl keep\nkeep:\n.cfi_startproc\n"
        "mov %rbx, (%rdi)\nmov %rbp, 8(%rdi)\nmov %r12, 16(%rdi)\nmov %r13, 24(%rdi)\n"
        "mov %r14, 32(%rdi)\nmov %r15, 40(%rdi)\nlea 8(%rsp), %rdx\nmov %rdx, 48(%rdi)\n"
        "mov %rsp, %rdx\nmov (%rdx), %rdx\nmov %rdx, 56(%rdi)\nxor %eax, %eax\nret\n"
        ".cfi_endproc\n.size keep, .-keep\n"
        ".type go_on, @function\n.globl go_on\ngo_on:\n.cfi_startproc\n"
        "mov %esi, %eax\nmov (%rdi), %rbx\nmov 8(%rdi), %rbp\nmov 16(%rdi), %r12\n"
        "mov 24(%rdi), %r13\nmov 32(%rdi), %r14\nmov 40(%rdi), %r15\nmov 48(%rdi), %rsp\n"
        "jmp *56(%rdi)\n.cfi_endproc\n.size go_on, .-go_on\n");

struct task {
    jmp_buf plain;
    struct registers own;
    char *low, *copy;
    size_t size, room;
    long sum;
    int again, done, waits;
};

static __thread struct task tasks[TASKS], *running;
static __thread jmp_buf scheduler_plain;
static __thread struct registers scheduler_own;
static __thread char *top;
static __thread struct signal_source source;
static __thread int raises;
static int by_assembly;

/* By one instruction: a sample in the middle would find half a stack. */
static inline __attribute__((always_inline)) void copy(void *to, const void *from, size_t bytes) {
    size_t words = bytes / 8;
    asm volatile("rep movsq" : "+D"(to), "+S"(from), "+c"(words) : : "memory");
}

/* Copies what lies between here and the scheduler's frame, and goes back to the scheduler. */
__attribute__((noinline)) static void wait(void) {
    struct task *t = running;
    int resumed = by_assembly ? keep(&t->own) : _setjmp(t->plain);
    if (resumed) {
        if (raises) RAISE(source);
        return;
    }
    t = running;
    if (raises) RAISE(source);
    t->waits++;
    t->low = (char *)__builtin_frame_address(0) - 1024;
    t->size = top - t->low;
    if (t->size > t->room) t->copy = realloc(t->copy, t->room = t->size);
    copy(t->copy, t->low, t->size);
    if (by_assembly) go_on(&scheduler_own, 1);
    _longjmp(scheduler_plain, 1);
}

/* Goes below what it is about to overwrite. */
__attribute__((noinline)) static void resume(struct task *t, int depth) {
    volatile char below[512];
    below[0] = below[511] = 0;
    if ((char *)&below[0] > t->low - 4096) {
        resume(t, depth + 1);
        burn(depth);
        return;
    }
    copy(t->low, t->copy, t->size);
    if (by_assembly) go_on(&t->own, 1);
    _longjmp(t->plain, 1);
}

__attribute__((noinline)) static long down(int frames, long value) {
    burn(12000);
    if (frames == 0) {
        for (int i = 0; i < 3; i++) wait();
        if (raises) RAISE(source);
        return value;
    }
    long below = down(frames - 1, value + frames);
    burn(12000);
    return below + frames % 2;
}

__attribute__((noinline)) static long other_way(int frames, long value) {
    if (frames % 3 == 1) wait();
    long below = frames ? other_way(frames - 1, value) : value;
    burn(12000);
    if (frames % 3 == 2) wait();
    return below + 1;
}

__attribute__((noinline)) static void begin(struct task *t) {
    long number = t - tasks, sum = 0;
    running = t;
    for (int i = 0; i < 2; i++) sum += number % 2 ? down(FRAMES, number) : other_way(FRAMES, number);
    t = running;
    /* The locals came back with the copy; what is counted outside has gone on. */
    t->sum += sum;
    t->done = 1;
    if (by_assembly) go_on(&scheduler_own, 1);
    _longjmp(scheduler_plain, 1);
}

__attribute__((noinline)) static long schedule(void) {
    volatile int next = -1, alive = TASKS, round = 0;
    top = (char *)((unsigned long)__builtin_frame_address(0) & ~7ul) - 512;
    for (int i = 0; i < TASKS; i++) tasks[i].sum = tasks[i].done = tasks[i].waits = tasks[i].again = 0;
    if (by_assembly) keep(&scheduler_own);
    else _setjmp(scheduler_plain);
    /* Comes here whenever a task waits or ends. */
    round = round + 1;
    if (round > 1 && running->done && !running->again && running->waits) {
        /* Once more from where it waited last: the same activations return a second time. */
        running->again = 1, running->done = 0;
        resume(running, 0);
    }
    do {
        next = (next + 1) % TASKS;
        alive = 0;
        for (int i = 0; i < TASKS; i++) alive += !tasks[i].done;
    } while (alive && tasks[next].done);
    if (alive) {
        struct task *t = running = &tasks[next];
        if (t->waits) resume(t, 0);
        /* Below this frame, and below what is copied of it. */
        volatile char *room = alloca(1024);
        room[0] = 0;
        begin(t);
    }
    long sum = 0;
    for (int i = 0; i < TASKS; i++) sum += tasks[i].sum + tasks[i].waits;
    return sum;
}

static void *many(void *result) {
    long sum = 0;
    take_over(&source);
    raises = source.call != -1;
    for (int i = 0; i < ROUNDS; i++) sum += schedule();
    *(long *)result = sum;
    return 0;
}

int main(int count, char **arguments) {
    long sums[3];
    pthread_t threads[2];
    by_assembly = count > 1 && strcmp(arguments[1], "assembly") == 0;
    for (int i = 0; i < 2; i++) pthread_create(&threads[i], 0, many, &sums[i]);
    many(&sums[2]);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], 0);
    printf("%ld %ld %ld\n", sums[0], sums[1], sums[2]);
    return 0;
}
