/* Counts on file numbers: opens as many files as the limit allows, in a program with threads; then
 * closes every number there could be, as daemons do, in each way there is, or gives it to a file of
 * its own, and goes on working. */
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile unsigned long result;

__attribute__((noipa)) static void work(unsigned steps) {
    unsigned long value = steps;
    while (steps-- > 0) value = value * 6364136223846793005UL + 1;
    result = value;
}

/* Closes all files that /proc/self/fd has, but the first three, until there is none. */
static void close_listed(void) {
    int closed = 0;
    for (int round = 0; round == 0 || (closed > 0 && round < 10); round++) {
        DIR *list = opendir("/proc/self/fd");
        if (list == NULL) _exit(4);
        closed = 0;
        for (struct dirent *entry; (entry = readdir(list));) {
            int number = atoi(entry->d_name);
            if (number <= 2 || number == dirfd(list)) continue;
            if (close(number) == 0)
                closed++;
            else if (round == 0)
                printf("listed and not to be closed\n");
        }
        closedir(list);
    }
    if (closed > 0) printf("closed without end\n");
    fflush(stdout);
}

static pthread_barrier_t both;

static void *other(void *argument) {
    pthread_barrier_wait(&both);
    work(3000000);
    pthread_barrier_wait(&both);
    return argument;
}

int main(int count, char **arguments) {
    const char *way = count > 1 ? arguments[1] : "each";
    struct rlimit limit;
    pthread_t threads[8];
    int opened = 0, last = -1, number, status = 0;
    pthread_barrier_init(&both, NULL, 9);
    for (int i = 0; i < 8; i++) pthread_create(&threads[i], NULL, other, NULL);
    pthread_barrier_wait(&both);
    while ((number = open("/dev/null", O_RDONLY)) >= 0) last = number, opened++;
    getrlimit(RLIMIT_NOFILE, &limit);
    printf("limit %ld, opened %d, last %d\n", (long)limit.rlim_cur, opened, last);
    pthread_barrier_wait(&both);
    for (int i = 0; i < 8; i++) pthread_join(threads[i], NULL);
    fflush(stdout);
    if (strcmp(way, "range") == 0)
        close_range(3, ~0U, 0);
    else if (strcmp(way, "from") == 0)
        closefrom(3);
    else if (strcmp(way, "reuse") == 0) {
        for (number = 3; number < (int)limit.rlim_cur; number++)
            if (dup2(0, number) != number) return 1;
        for (number = 3; number < (int)limit.rlim_cur; number++)
            if (close(number) != 0) return 2;
    } else if (strcmp(way, "listed") == 0) {
        /* One is free for the list. */
        close(last);
        close_listed();
    } else
        for (number = 3; number < (int)limit.rlim_cur; number++) close(number);
    work(200000000);
    pid_t child = fork();
    if (child == 0) {
        if (strcmp(way, "listed") == 0) close_listed();
        work(20000000);
        _exit(3);
    }
    waitpid(child, &status, 0);
    printf("first %d, child %d\n", open("/dev/null", O_RDONLY), WEXITSTATUS(status));
    return 0;
}
