/* limits WAY: lowers a limit of its own while it works, and runs into it: as, fsize, nofile, stack,
 * sigpending, memlock. Then it creates threads, loads a library, forks and goes on working. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "many_paths.h"

static void limit(int what, rlim_t value) {
    struct rlimit now;
    getrlimit(what, &now);
    now.rlim_cur = now.rlim_max = value < now.rlim_max ? value : now.rlim_max;
    setrlimit(what, &now);
}

static void *thread_body(void *argument) {
    work(20);
    return argument;
}

/* The pages that this process has, in bytes. */
static unsigned long size(void) {
    unsigned long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (fscanf(file, "%lu", &pages) != 1) exit(9);
    fclose(file);
    return pages * 4096;
}

int main(int count, char **arguments) {
    const char *way = count > 1 ? arguments[1] : "none";
    static char room[1 << 16];
    setvbuf(stdout, room, _IOFBF, sizeof room);
    work(20);
    printf("%s: ", way);
    fflush(stdout);
    if (!strcmp(way, "as")) limit(RLIMIT_AS, size());
    if (!strcmp(way, "fsize")) limit(RLIMIT_FSIZE, 4096);
    if (!strcmp(way, "nofile")) limit(RLIMIT_NOFILE, 3);
    if (!strcmp(way, "stack")) limit(RLIMIT_STACK, 65536);
    if (!strcmp(way, "sigpending")) limit(RLIMIT_SIGPENDING, 0);
    if (!strcmp(way, "memlock")) {
        mlockall(MCL_CURRENT);
        limit(RLIMIT_MEMLOCK, 65536);
        mlockall(MCL_FUTURE);
    }
    unsigned sum = 0;
    for (unsigned i = 0; i < 3000; i++) sum += many(20, i * 2654435761u);
    printf("sum %u", sum);
    /* What a limit forbids, it forbids always: nothing of that is printed but that it is over. */
    pthread_t thread;
    void *answer = NULL;
    int refused = pthread_create(&thread, NULL, thread_body, &sum);
    if (refused == 0) pthread_join(thread, &answer);
    printf(", thread %s", refused || answer == &sum ? "over" : "wrong");
    void *library = dlopen("libutil.so.1", RTLD_NOW);
    library = dlopen("libresolv.so.2", RTLD_NOW);
    if (library) dlclose(library);
    printf(", library over");
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        work(20);
        _exit(3);
    }
    int status = -1;
    if (pid > 0) waitpid(pid, &status, 0);
    printf(", child %s\n", pid < 0 || WEXITSTATUS(status) == 3 ? "over" : "wrong");
    work(20);
    return 0;
}
