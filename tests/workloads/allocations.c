/* Allocates in every way, in threads, across a fork, and in libraries that come and go; what was written
 * must be there still. For malloc replacements that are preloaded beside csprof. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { KEPT = 256, ROUNDS = 60000, THREADS = 4 };

static unsigned next(unsigned *state) {
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

/* Every block begins with its size and its place, and ends with their sum. */
static void mark(unsigned char *block, size_t size, uint32_t place) {
    uint32_t sum = (uint32_t)size + place, whole = (uint32_t)size;
    memcpy(block, &whole, 4);
    memcpy(block + 4, &place, 4);
    memcpy(block + size - 4, &sum, 4);
}

static int is_marked(const unsigned char *block, uint32_t place) {
    uint32_t size, number, sum;
    memcpy(&size, block, 4);
    memcpy(&number, block + 4, 4);
    memcpy(&sum, block + size - 4, 4);
    return number == place && sum == size + place;
}

__attribute__((noinline)) static long churn(unsigned seed, int rounds) {
    unsigned char *kept[KEPT] = {0};
    unsigned state = seed;
    long wrong = 0;
    for (int i = 0; i < rounds; i++) {
        unsigned place = next(&state) % KEPT;
        size_t size = 16 + next(&state) % (i % 64 == 0 ? 300000 : 600);
        unsigned char *old = kept[place], *new = NULL;
        if (old) wrong += !is_marked(old, place);
        switch (next(&state) % 4) {
        case 0: free(old), new = malloc(size); break;
        case 1: free(old), new = calloc(1, size), wrong += new[size / 2] != 0; break;
        case 2: new = realloc(old, size); break;
        default:
            free(old), new = aligned_alloc(64, (size + 63) & ~(size_t)63);
            wrong += (uintptr_t)new % 64 != 0;
        }
        wrong += malloc_usable_size(new) < size;
        mark(new, size, place);
        kept[place] = new;
    }
    for (unsigned place = 0; place < KEPT; place++) free(kept[place]);
    return wrong;
}

static void *body(void *seed) {
    return (void *)churn((unsigned)(uintptr_t)seed, ROUNDS);
}

int main(void) {
    pthread_t threads[THREADS];
    long wrong = 0, children = 0;
    for (uintptr_t i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, body, (void *)(i + 1));
    for (int i = 0; i < 10; i++) {
        pid_t pid = fork();
        if (pid == 0) _exit(churn(77, 2000) == 0 ? 7 : 1);
        int status = 0;
        waitpid(pid, &status, 0);
        children += WIFEXITED(status) && WEXITSTATUS(status) == 7;
        void *library = dlopen("libm.so.6", RTLD_NOW);
        if (library) dlclose(library);
    }
    for (int i = 0; i < THREADS; i++) {
        void *answer;
        pthread_join(threads[i], &answer);
        wrong += (long)answer;
    }
    wrong += churn(5, ROUNDS);
    printf("wrong %ld, children %ld\n", wrong, children);
    return 0;
}
