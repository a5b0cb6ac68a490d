/* load_storm ROUNDS: threads load and unload libraries, by path, by name, and into namespaces of their
 * own, so that addresses mean one thing after the other; a handler, and a callback that holds the
 * loader's lock, fork meanwhile. The libraries work in their constructors. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static int rounds;
static volatile unsigned long result;

__attribute__((noinline)) static void burn(unsigned long steps) {
    unsigned long value = 1;
    while (steps-- > 0) value = value * 6364136223846793005UL + 1;
    result = value;
}

static long call(void *library) {
    int (*work)(void) = library ? (int (*)(void))dlsym(library, "work") : NULL;
    long answer = work ? work() : -1000000;
    if (library) dlclose(library);
    return answer;
}

static void *loads(void *first) {
    const char *paths[] = {"./one.so", "./two.so"};
    long sum = 0, which = (long)first;
    for (int i = 0; i < rounds; i++) {
        sum += call(dlopen(paths[(i + which) % 2], RTLD_NOW));
        sum += call(dlopen("three.so", RTLD_NOW));
    }
    return (void *)sum;
}

static int fork_here(struct dl_phdr_info *info, size_t size, void *right) {
    (void)info, (void)size;
    pid_t pid = fork();
    if (pid == 0) _exit(7);
    int status = 0;
    if (waitpid(pid, &status, 0) == pid && WEXITSTATUS(status) == 7) ++*(int *)right;
    return 1;
}

static void *forks(void *argument) {
    for (int i = 0; i < rounds; i++) {
        dl_iterate_phdr(fork_here, argument);
        burn(100000);
    }
    return NULL;
}

int main(int count, char **arguments) {
    pthread_t one, two, three;
    void *first, *second;
    int forked = 0;
    long apart = 0;
    rounds = count > 1 ? atoi(arguments[1]) : 20;
    pthread_create(&one, NULL, loads, (void *)0);
    pthread_create(&two, NULL, loads, (void *)1);
    pthread_create(&three, NULL, forks, &forked);
    pthread_join(one, &first);
    pthread_join(two, &second);
    pthread_join(three, NULL);
    printf("loaded: %ld %ld\nforked in a callback: %d\n", (long)first, (long)second, forked);
    fflush(stdout);
    for (int i = 0; i < rounds / 2; i++) apart += call(dlmopen(LM_ID_NEWLM, "./one.so", RTLD_NOW));
    printf("apart: %ld\n", apart);
    return 0;
}
