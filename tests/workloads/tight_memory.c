/* A child for each of many limits of its memory, a little more from one to the next: it loads a library
 * with much code, creates a thread and forks, as far as its memory goes. Nobody may die of it. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile unsigned long result;

static void burn(unsigned long steps) {
    for (unsigned long i = 0; i < steps; i++) result += i * i;
}

static void *body(void *argument) {
    burn(100000);
    return argument;
}

static unsigned long size(void) {
    unsigned long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (fscanf(file, "%lu", &pages) != 1) exit(9);
    fclose(file);
    return pages * 4096;
}

int main(void) {
    int died = 0;
    unsigned long now = size();
    for (int step = 0; step < 64; step++) {
        pid_t pid = fork();
        if (pid == 0) {
            rlim_t most = now + (rlim_t)step * 160 * 1024;
            setrlimit(RLIMIT_AS, &(struct rlimit){most, most});
            void *library = dlopen("libstdc++.so.6", RTLD_NOW);
            burn(100000);
            if (library) dlclose(library);
            pthread_t thread;
            pthread_attr_t small;
            pthread_attr_init(&small);
            pthread_attr_setstacksize(&small, 32768);
            if (pthread_create(&thread, &small, body, NULL) == 0) pthread_join(thread, NULL);
            pid_t inner = fork();
            if (inner == 0) _exit(3);
            int status = 0;
            if (inner > 0) waitpid(inner, &status, 0);
            _exit(inner > 0 && WEXITSTATUS(status) != 3 ? 4 : 3);
        }
        int status = 0;
        waitpid(pid, &status, 0);
        died += WEXITSTATUS(status) != 3 || WIFSIGNALED(status);
    }
    printf("died: %d\n", died);
    return 0;
}
