/* full_disk FILE: fills the file system of FILE while it works, goes on along many new call paths, creates
 * threads, loads a library and forks meanwhile; deletes the file, and does all of it again. */
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "many_paths.h"

static void *body(void *argument) {
    work(20);
    return argument;
}

static void everything(const char *when) {
    unsigned sum = 0;
    for (unsigned i = 0; i < 60000; i++) sum += many(40, i * 2654435761u);
    pthread_t threads[4];
    int joined = 0, status = -1;
    for (int i = 0; i < 4; i++) pthread_create(&threads[i], NULL, body, &sum);
    for (int i = 0; i < 4; i++) {
        void *answer = NULL;
        pthread_join(threads[i], &answer);
        joined += answer == &sum;
    }
    void *library = dlopen("libresolv.so.2", RTLD_NOW);
    pid_t pid = fork();
    if (pid == 0) {
        work(20);
        _exit(3);
    }
    waitpid(pid, &status, 0);
    printf("%s: sum %u, threads %d, library %d, child %d\n", when, sum, joined, library != NULL,
           WEXITSTATUS(status));
    fflush(stdout);
    if (library) dlclose(library);
}

/* Longer than both others may differ: after many refusals csprof waits as long as these took before it asks again. */
__attribute__((noinline)) static void at_last(void) { work(500), result++; }

int main(int count, char **arguments) {
    if (count < 2) return 2;
    static char bytes[1 << 16];
    int file = open(arguments[1], O_CREAT | O_WRONLY | O_EXCL, 0600);
    if (file < 0) return 3;
    work(20);
    memset(bytes, 'x', sizeof bytes);
    size_t size = sizeof bytes;
    while (size > 0)
        if (write(file, bytes, size) <= 0) size /= 2;
    everything("full");
    if (ftruncate(file, 0) != 0) return 4;
    everything("free");
    at_last();
    return 0;
}
