/* A program with an allocator of its own, which counts who calls it. Threads that allocate nothing, created in
 * every way, and a fork: prints the calls that were made in them, and before main, when an allocator may not be
 * ready (that of GCL, a Lisp, ends a program that frees something then). */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <threads.h>
#include <unistd.h>

enum { HEAP = 64 << 20, ALIGN = 16, OWN_STACK = 1 << 20 };

static _Thread_local unsigned calls;
static char heap[HEAP] __attribute__((aligned(ALIGN)));
static size_t used;

/* The size of a block stands before it; nothing is used again. */
void *malloc(size_t size) {
    size_t whole = (size + 2 * ALIGN - 1) & ~(size_t)(ALIGN - 1);
    size_t start = __atomic_fetch_add(&used, whole, __ATOMIC_RELAXED);
    calls++;
    if (start + whole > HEAP) return NULL;
    memcpy(heap + start, &size, sizeof size);
    return heap + start + ALIGN;
}

void free(void *block) { calls += block != NULL; }

void *calloc(size_t count, size_t size) { return malloc(count * size); }

void *realloc(void *block, size_t size) {
    size_t before = 0;
    void *new = malloc(size);
    if (block) memcpy(&before, (char *)block - ALIGN, sizeof before);
    if (new && block) memcpy(new, block, before < size ? before : size);
    return new;
}

static unsigned in_threads;

static void *nothing(void *argument) {
    __atomic_fetch_add(&in_threads, calls, __ATOMIC_RELAXED);
    return argument;
}

static int nothing_c11(void *argument) { return nothing(argument) != NULL; }

static void run(const pthread_attr_t *attributes) {
    pthread_t thread;
    if (pthread_create(&thread, attributes, nothing, NULL) == 0) pthread_join(thread, NULL);
}

int main(void) {
    unsigned before_main = calls;
    static char stack[OWN_STACK] __attribute__((aligned(4096)));
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    for (int i = 0; i < 20; i++) run(NULL), run(&attributes);
    pthread_attr_setstacksize(&attributes, 16 << 20);
    run(&attributes);
    pthread_attr_setstack(&attributes, stack, sizeof stack);
    run(&attributes);
    thrd_t thread;
    if (thrd_create(&thread, nothing_c11, NULL) == thrd_success) thrd_join(thread, NULL);

    unsigned before = calls;
    pid_t child = fork();
    if (child == 0) _exit(calls - before ? 1 : 0);
    int status = -1;
    waitpid(child, &status, 0);
    printf("before main %u, in threads %u, in a fork %u, in its child %d\n", before_main, in_threads, calls - before,
           WEXITSTATUS(status));
    return 0;
}
