/* short_threads COUNT AT_ONCE [WAY]: COUNT threads that live for one request each, AT_ONCE of them
 * side by side. Each asks for memory once; of 500, the first burns 5 ms of CPU time. WAY:
 *   named      each takes a name of its own, which differs in its number
 *   two-names  each second one takes another name
 *   named-left each takes such a name, but for the last, which are there when the process ends
 *   gone       each second one ends by a system call of its own
 *   forks      a child of fork goes on with 20 threads more
 *   main-ends  the main thread ends before them, by pthread_exit */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const char *way = "";
static long threads, at_once;
static atomic_long answers, left;

static int is_way(const char *name) { return strcmp(way, name) == 0; }

__attribute__((noinline)) static unsigned long burn(unsigned long value) {
    struct timespec now;
    do {
        for (int step = 0; step < 1000; step++) value = value * 6364136223846793005UL + 1;
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    } while (now.tv_sec == 0 && now.tv_nsec < 5000000);
    return value;
}

__attribute__((noinline)) static long request(long number) {
    volatile char *memory = malloc(100);
    memory[0] = (char)number;
    if (number % 500 == 0) memory[1] = (char)burn((unsigned long)number);
    free((void *)memory);
    return number;
}

static void *serve(void *argument) {
    long number = (long)argument;
    char name[16];
    if (is_way("named-left") && number >= threads - at_once) {
        atomic_fetch_add(&left, 1);
        for (;;) pause();
    }
    snprintf(name, sizeof name, number % 2 && is_way("two-names") ? "write" : "read-%ld", number);
    if (is_way("named") || is_way("named-left") || is_way("two-names")) pthread_setname_np(pthread_self(), name);
    atomic_fetch_add(&answers, request(number) + 1);
    if (number % 2 && is_way("gone")) syscall(SYS_exit, 0);
    return NULL;
}

static void serve_all(void) {
    pthread_t *ids = calloc((size_t)at_once, sizeof *ids);
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 64 << 10);
    for (long first = 0; first < threads; first += at_once) {
        long last = first + at_once < threads ? first + at_once : threads;
        for (long number = first; number < last; number++) {
            int error = pthread_create(&ids[number - first], &attributes, serve, (void *)number);
            if (error != 0) printf("no thread: %s\n", strerror(error)), exit(1);
        }
        if (is_way("named-left") && last == threads) {
            while (atomic_load(&left) < at_once) usleep(1000);
            break;
        }
        // Of one that is gone the C library hears by the kernel, which clears its id.
        for (long number = first; number < last; number++) pthread_join(ids[number - first], NULL);
    }
    free(ids);
    printf("%ld threads: %ld\n", threads, atomic_load(&answers));
    fflush(stdout);
}

static void *serve_after_main(void *main_thread) {
    pthread_join(*(pthread_t *)main_thread, NULL);
    serve_all();
    exit(0);
}

int main(int count, char **arguments) {
    static pthread_t main_thread;
    if (count < 3) return 2;
    threads = atol(arguments[1]);
    at_once = atol(arguments[2]);
    way = count > 3 ? arguments[3] : "";
    if (is_way("main-ends")) {
        pthread_t server;
        main_thread = pthread_self();
        pthread_create(&server, NULL, serve_after_main, &main_thread);
        pthread_exit(NULL);
    }
    serve_all();
    if (is_way("forks")) {
        pid_t child = fork();
        if (child == 0) {
            threads = 20;
            atomic_store(&answers, 0);
            serve_all();
            exit(0);
        }
        waitpid(child, NULL, 0);
    }
    return 0;
}
