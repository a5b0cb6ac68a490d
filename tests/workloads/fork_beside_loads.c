/* Forks while four threads open a library that is loaded already, and close it. Each child asks the
 * loader what is loaded, for which it takes the loader's lock. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#define LIBRARY "libm.so.6"

static volatile int stop;

static int first(struct dl_phdr_info *info, size_t size, void *data) {
    (void)info, (void)size, (void)data;
    return 1;
}

static void *load(void *argument) {
    (void)argument;
    while (!stop) {
        void *library = dlopen(LIBRARY, RTLD_NOW);
        if (library) dlclose(library);
    }
    return NULL;
}

int main(void) {
    void *kept = dlopen(LIBRARY, RTLD_NOW);
    pthread_t threads[4];
    int ended = 0;
    for (int i = 0; i < 4; i++) pthread_create(&threads[i], NULL, load, NULL);
    for (int i = 0; i < 60; i++) {
        int status, pid = fork();
        if (pid == 0) {
            /* One that hangs is ended. */
            alarm(20);
            dl_iterate_phdr(first, NULL);
            _exit(0);
        }
        waitpid(pid, &status, 0);
        ended += WIFEXITED(status);
    }
    stop = 1;
    for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
    printf("library %s, %d children ended\n", kept ? "open" : "missing", ended);
    return 0;
}
