/* While a thread is in a callback of dl_iterate_phdr, and another one opens and closes a library, the
 * main thread forks and ends. A library that it has opened is unlinked. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "in_callback.h"

static void *load(void *argument) {
    for (;;) {
        void *library = dlopen("libm.so.6", RTLD_NOW);
        if (library) dlclose(library);
        usleep(1000);
    }
    return argument;
}

int main(void) {
    pthread_t loading;
    int ended = 0;
    dlopen("libm.so.6", RTLD_NOW);
    if (system("cp one.so gone.so") || !dlopen("./gone.so", RTLD_NOW) || unlink("gone.so")) return 2;
    begin_visit();
    pthread_create(&loading, NULL, load, NULL);
    for (int i = 0; i < 5; i++) {
        int status, pid = fork();
        if (pid == 0) _exit(0);
        waitpid(pid, &status, 0);
        ended += WIFEXITED(status);
        usleep(1000);
    }
    printf("%d children ended\n", ended);
    return 0;
}
