/* Calls functions that csprof stands before, and another preloaded library as well. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

static volatile unsigned long result;

__attribute__((noinline)) static void burn(unsigned long steps) {
    unsigned long value = 1;
    while (steps-- > 0) value = value * 6364136223846793005UL + 1;
    result = value;
}

static volatile int handled;
static void handler(int signal) { handled = signal; }

static void *body(void *argument) {
    sigset_t set;
    sigfillset(&set);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    burn(20000000);
    pthread_sigmask(SIG_UNBLOCK, &set, NULL);
    return argument;
}

int main(void) {
    pthread_t threads[8];
    long sum = 0;
    struct sigaction action = {.sa_handler = handler};
    sigaction(SIGUSR1, &action, NULL);
    sigaction(SIGPROF, &action, NULL);
    for (long i = 0; i < 8; i++) pthread_create(&threads[i], NULL, body, (void *)i);
    for (int i = 0; i < 8; i++) {
        void *answer;
        pthread_join(threads[i], &answer);
        sum += (long)answer;
    }
    raise(SIGUSR1);
    for (int i = 0; i < 5; i++) {
        void *library = dlopen("./work.so", RTLD_NOW);
        int (*work)(void) = (int (*)(void))dlsym(library, "work");
        sum += work();
        dlclose(library);
    }
    sum += dup2(1, 30) == 30;
    printf("sum %ld, handled %d\n", sum, handled == SIGUSR1);
    void (*report)(void) = (void (*)(void))dlsym(RTLD_DEFAULT, "report_between");
    if (report) report();
    return 0;
}
