/* In callbacks of dl_iterate_phdr, waits for a thread that it starts there, which opens a library
 * and asks it for a function, and for the handler of a thread that opens libraries all the time, as
 * profilers do that stop a thread to look at its stack. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#define LIBRARY "libm.so.6"

static volatile int stop, asked;
static pthread_t loading;
static sem_t answered;

static void *ask(void *argument) {
    (void)argument;
    void *library = dlopen(LIBRARY, RTLD_NOW);
    asked += library && dlsym(library, "cos");
    return NULL;
}

static void *load(void *argument) {
    (void)argument;
    while (!stop) {
        void *library = dlopen(LIBRARY, RTLD_NOW);
        if (library) dlclose(library);
        usleep(1000);
    }
    return NULL;
}

static void answer(int signal) {
    (void)signal;
    sem_post(&answered);
}

static int start_and_join(struct dl_phdr_info *info, size_t size, void *data) {
    (void)info, (void)size, (void)data;
    pthread_t thread;
    pthread_create(&thread, NULL, ask, NULL);
    pthread_join(thread, NULL);
    return 1;
}

static int signal_and_wait(struct dl_phdr_info *info, size_t size, void *data) {
    (void)info, (void)size, (void)data;
    pthread_kill(loading, SIGUSR1);
    while (sem_wait(&answered)) {}
    return 1;
}

int main(void) {
    int stopped = 0;
    /* One that hangs is ended. */
    alarm(60);
    dlopen(LIBRARY, RTLD_NOW);
    sem_init(&answered, 0, 0);
    signal(SIGUSR1, answer);
    for (int i = 0; i < 5; i++) dl_iterate_phdr(start_and_join, NULL);
    pthread_create(&loading, NULL, load, NULL);
    for (int i = 0; i < 20; i++) stopped += dl_iterate_phdr(signal_and_wait, NULL), usleep(500);
    stop = 1;
    pthread_join(loading, NULL);
    printf("%d threads asked, %d times stopped\n", asked, stopped);
    return 0;
}
