/* Asks for known amounts of memory on known paths, and gives known ones back. The argument says how; the status
 * is 3. Says how often it was refused, or by how many bytes blocks of the first thread have grown. */
#define _GNU_SOURCE
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SMALL = 24, MANY = 2000, LARGE = 100000, THREADS = 4, ROUNDS = 50 };

/* A block is used, for the compiler not to leave it out. */
#define USED(block) __asm__ volatile("" : "+r"(block) : : "memory")
#define APART __attribute__((noinline, noclone, noipa))

APART static void small(void) {
    for (int i = 0; i < MANY; i++) {
        void *block = malloc(SMALL);
        USED(block);
        free(block);
    }
}

APART static void large(void) {
    void *block = malloc(LARGE);
    USED(block);
    free(block);
}

APART static void zeroed(void) {
    void *block = calloc(10, 100);
    USED(block);
    free(block);
}

/* What blocks of one thread have grown by. */
static _Thread_local size_t grown_by;

static size_t beyond(void *block, size_t size) {
    size_t room = malloc_usable_size(block);
    return size > room ? size - room : 0;
}

APART static void grown(void) {
    char *block = malloc(1000);
    USED(block);
    grown_by += beyond(block, 3000);
    block = realloc(block, 3000);
    USED(block);
    grown_by += beyond(block, 2008);
    block = realloc(block, 2008);
    USED(block);
    grown_by += beyond(block, 8008);
    block = reallocarray(block, 8, 1001);
    USED(block);
    free(block);
}

APART static void aligned(void) {
    void *block = NULL;
    if (posix_memalign(&block, 64, 500) != 0) exit(1);
    USED(block);
    free(block);
    block = aligned_alloc(64, 640);
    USED(block);
    free(block);
    block = memalign(64, 700);
    USED(block);
    free(block);
    block = valloc(4096);
    USED(block);
    free(block);
    block = pvalloc(8192);
    USED(block);
    free(block);
}

/* Nothing is granted, and errno says so. */
APART static int refused(void) {
    volatile size_t most = SIZE_MAX, half = SIZE_MAX / 2;
    int told = 0;
    void *block = NULL;
    errno = 0, told += malloc(most) == NULL && errno == ENOMEM;
    errno = 0, told += malloc(half) == NULL && errno == ENOMEM;
    errno = 0, told += calloc(most, 16) == NULL && errno == ENOMEM;
    errno = 0, told += calloc(half, 1) == NULL && errno == ENOMEM;
    errno = 0, told += realloc(NULL, most) == NULL && errno == ENOMEM;
    errno = 0, told += reallocarray(NULL, most, 16) == NULL && errno == ENOMEM;
    errno = 0, told += posix_memalign(&block, 3, 8) == EINVAL && block == NULL && errno == 0;
    errno = 0, told += posix_memalign(&block, 64, half) == ENOMEM && block == NULL;
    errno = 0, told += aligned_alloc(64, half) == NULL && errno == ENOMEM;
    errno = 7, free(NULL), told += errno == 7;
    return told;
}

APART static void all(void) {
    for (int i = 0; i < ROUNDS; i++) {
        small();
        large();
        zeroed();
        grown();
        aligned();
    }
}

static void *kept[4096];
static int kept_blocks;

APART static void *keep(void *block) {
    kept[kept_blocks++] = block;
    return block;
}

APART static void lost_blocks(void) {
    for (int i = 0; i < 10; i++) keep(malloc(1000));
}

APART static void lost_zeroed(void) {
    for (int i = 0; i < 5; i++) keep(calloc(2, 1000));
}

/* Two are given back: one as it is, one resized. */
APART static void lost_partly(void) {
    for (int i = 0; i < 8; i++) keep(malloc(1000));
    free(kept[--kept_blocks]);
    free(realloc(kept[--kept_blocks], 50000));
}

/* It moves, and what it grows by is lost here. */
APART static void lost_grown(void) {
    char *block = malloc(1000), *between = malloc(1000);
    USED(block);
    USED(between);
    grown_by += beyond(block, 200008);
    keep(realloc(block, 200008));
    free(between);
}

static void *to_give_back[ROUNDS];

APART static void *give_back(void *nothing) {
    for (int i = 0; i < ROUNDS; i++) free(to_give_back[i]);
    return nothing;
}

/* All are given back by another thread. */
APART static void passed_on(void) {
    pthread_t thread;
    for (int i = 0; i < ROUNDS; i++) to_give_back[i] = malloc(3000);
    pthread_create(&thread, NULL, give_back, NULL);
    pthread_join(thread, NULL);
}

APART static void leaks(void) {
    lost_blocks();
    lost_zeroed();
    lost_partly();
    lost_grown();
    passed_on();
}

static void *body(void *nothing) {
    all();
    return nothing;
}

APART static void threads(void) {
    pthread_t thread[THREADS];
    for (int i = 0; i < THREADS; i++) pthread_create(&thread[i], NULL, body, NULL);
    for (int i = 0; i < THREADS; i++) pthread_join(thread[i], NULL);
}

static volatile sig_atomic_t handled;

APART static void on_signal(int signal) {
    void *block = malloc(2000);
    USED(block);
    free(block);
    handled += signal == SIGUSR1;
}

APART static void raised(void) {
    signal(SIGUSR1, on_signal);
    for (int i = 0; i < ROUNDS; i++) raise(SIGUSR1);
}

/* The child gives back what is its parent's, which its parent keeps. */
APART static void forked(void) {
    lost_blocks();
    pid_t child = fork();
    if (child == 0) {
        while (kept_blocks > 0) free(kept[--kept_blocks]);
        lost_zeroed();
        _exit(5);
    }
    int status = 0;
    waitpid(child, &status, 0);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 5) exit(1);
}

int main(int count, char **arguments) {
    const char *how = count > 1 ? arguments[1] : "all";
    int told = 0;
    if (strcmp(how, "all") == 0) all(), told = (int)grown_by;
    if (strcmp(how, "refused") == 0) told = refused();
    if (strcmp(how, "leaks") == 0) leaks(), told = (int)grown_by;
    if (strcmp(how, "killed") == 0) leaks();
    if (strcmp(how, "threads") == 0) threads();
    if (strcmp(how, "raised") == 0) raised();
    if (strcmp(how, "fork") == 0) forked();
    char said[64];
    int length = snprintf(said, sizeof said, "%s %d %d\n", how, told, (int)handled);
    if (write(1, said, (size_t)length) != length) return 1;
    if (strcmp(how, "killed") == 0) raise(SIGKILL);
    return 3;
}
