/* thread_storm SHORT ALIVE: so many threads that each live for a moment, then so many that live at
 * the same time; then threads that the C library does not know. Prints what came of them. */
#define _GNU_SOURCE
#include <dirent.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <threads.h>
#include <unistd.h>

static volatile unsigned long result;
static unsigned long sum;

__attribute__((noinline)) static unsigned long burn(unsigned long steps) {
    unsigned long value = 1;
    while (steps-- > 0) value = value * 6364136223846793005UL + 1;
    return result = value;
}

static void *brief(void *number) {
    burn(3000);
    __atomic_fetch_add(&sum, (unsigned long)number, __ATOMIC_RELAXED);
    return number;
}

static int brief_c11(void *number) {
    brief(number);
    return (int)(unsigned long)number;
}

static pthread_barrier_t all;
static void *alive(void *number) {
    pthread_barrier_wait(&all);
    return brief(number);
}

static int entries(const char *folder) {
    int count = -2;
    DIR *list = opendir(folder);
    while (readdir(list)) count++;
    closedir(list);
    return count;
}

/* No thread-local storage of its own, no C library: it may only compute. */
static volatile int raw_done;
static int raw(void *steps) {
    unsigned long value = 1;
    for (unsigned long left = (unsigned long)steps; left > 0; left--) value = value * 3 + 1;
    result = value;
    __atomic_store_n(&raw_done, 1, __ATOMIC_RELEASE);
    __asm__ volatile("syscall" : : "a"(SYS_exit), "D"(0) : "rcx", "r11", "memory");
    __builtin_unreachable();
}

int main(int count, char **arguments) {
    int brief_ones = count > 1 ? atoi(arguments[1]) : 1000;
    int live_ones = count > 2 ? atoi(arguments[2]) : 100;
    pthread_attr_t small;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 32768);
    for (int i = 0; i < brief_ones; i += 4) {
        pthread_t four[4];
        for (long j = 0; j < 4; j++)
            if (pthread_create(&four[j], &small, brief, (void *)(i + j)) != 0) return 1;
        for (int j = 0; j < 4; j++) pthread_join(four[j], NULL);
    }
    printf("brief: %lu\n", sum);
    sum = 0;
    for (long i = 0; i < 100; i++) {
        thrd_t thread;
        int answer = -1;
        if (thrd_create(&thread, brief_c11, (void *)i) != thrd_success) return 1;
        thrd_join(thread, &answer);
        if (answer != i) return 2;
    }
    printf("C11: %lu\n", sum);
    /* Who has been waited for may be there for a moment more. */
    while (entries("/proc/self/task") != 1) sched_yield();
    sum = 0;
    pthread_t *threads = calloc((size_t)live_ones, sizeof *threads);
    pthread_barrier_init(&all, NULL, (unsigned)live_ones + 1);
    for (long i = 0; i < live_ones; i++)
        if (pthread_create(&threads[i], &small, alive, (void *)i) != 0) return 3;
    printf("tasks: %d\n", entries("/proc/self/task"));
    pthread_barrier_wait(&all);
    for (int i = 0; i < live_ones; i++) pthread_join(threads[i], NULL);
    printf("alive: %lu\n", sum);
    static char stack[65536] __attribute__((aligned(16)));
    int flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM;
    if (clone(raw, stack + sizeof stack, flags, (void *)20000000) < 0) return 4;
    while (!__atomic_load_n(&raw_done, __ATOMIC_ACQUIRE)) burn(1000);
    while (entries("/proc/self/task") != 1) sched_yield();
    printf("raw: done, %d left\n", entries("/proc/self/task"));
    return 0;
}
