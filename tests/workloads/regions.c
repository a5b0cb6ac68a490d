/* Parallel regions of OpenMP, opened by several functions. Each thread of a team works for so many
 * milliseconds of its own CPU time, in `work`, which nothing but a region calls.
 *
 * two      `first` opens one, `second` another, half as long; then a loop and sections
 * loops    `from_a` has `many` open 40 regions in one activation, `from_b` 20
 * nested   `outer` opens one in which each thread opens another, in `inner`
 * openers  two threads open 500 regions each
 * fork     the child of a process that has opened a region opens its own
 * late     opens one when libgomp was loaded by dlopen(3), for a program that is not linked with it
 * empty N  N regions without work; prints the nanoseconds that each took */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <omp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifdef __clang__
#define NOINLINE __attribute__((noinline))
#else
/* No copy for a constant argument, which would have a name of its own. */
#define NOINLINE __attribute__((noinline, noclone))
#endif

static volatile unsigned long sink;

static long now_ns(clockid_t clock) {
    struct timespec time;
    clock_gettime(clock, &time);
    return time.tv_sec * 1000000000L + time.tv_nsec;
}

NOINLINE static void work(double milliseconds) {
    long end = now_ns(CLOCK_THREAD_CPUTIME_ID) + (long)(milliseconds * 1e6);
    do {
        for (unsigned long i = 0; i < 2000; i++) sink += i * i;
    } while (now_ns(CLOCK_THREAD_CPUTIME_ID) < end);
}

/* Behind each region something is done, so that none is opened by a tail call. */

NOINLINE static void first(void) {
#pragma omp parallel num_threads(3)
    {
        work(100);
        sink++;
    }
    sink++;
}

NOINLINE static void second(void) {
#pragma omp parallel num_threads(3)
    {
        work(50);
        sink++;
    }
    sink++;
}

NOINLINE static long loop(long from) {
    long sum = 0;
#pragma omp parallel for schedule(dynamic, 3) num_threads(3)
    for (long i = from; i < from + 40; i += 2) {
#pragma omp atomic
        sum += i;
        work(2);
    }
    return sum;
}

NOINLINE static long sections(void) {
    long a = 0, b = 0;
#pragma omp parallel sections num_threads(2)
    {
#pragma omp section
        { work(20); a = 1; }
#pragma omp section
        { work(20); b = 2; }
    }
    return a + b;
}

NOINLINE static void many(int regions) {
    for (int i = 0; i < regions; i++) {
#pragma omp parallel num_threads(2)
        {
            work(2);
            sink++;
        }
        for (unsigned long j = 0; j < 20000; j++) sink += j;
    }
}

NOINLINE static void from_a(void) {
    many(40);
    sink++;
}

NOINLINE static void from_b(void) {
    many(20);
    sink++;
}

NOINLINE static void inner(void) {
#pragma omp parallel num_threads(2)
    {
        work(60);
        sink++;
    }
    sink++;
}

NOINLINE static void outer(void) {
#pragma omp parallel num_threads(2)
    {
        inner();
        sink++;
    }
    sink++;
}

NOINLINE static void short_one(void) {
#pragma omp parallel num_threads(2)
    {
        work(0.1);
        sink++;
    }
    sink++;
}

static void *opener(void *nothing) {
    for (int i = 0; i < 500; i++) short_one();
    return nothing;
}

int main(int count, char **arguments) {
    const char *what = count > 1 ? arguments[1] : "";
    if (!strcmp(what, "two")) {
        first();
        second();
        long sum = loop(10);
        sum += sections();
        printf("%ld\n", sum);
    } else if (!strcmp(what, "loops")) {
        from_a();
        from_b();
    } else if (!strcmp(what, "nested")) {
        omp_set_max_active_levels(2);
        outer();
    } else if (!strcmp(what, "openers")) {
        pthread_t threads[2];
        for (int i = 0; i < 2; i++) pthread_create(&threads[i], NULL, opener, NULL);
        for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    } else if (!strcmp(what, "fork")) {
        /* The child of a process with a pool has none of its threads: libgomp would wait for them. So the region is
         * opened by a thread that has ended by then, with its pool. */
        pthread_t thread;
        pthread_create(&thread, NULL, opener, NULL);
        pthread_join(thread, NULL);
        pid_t child = fork();
        if (child == 0) {
            second();
            _exit(0);
        }
        int status = 0;
        waitpid(child, &status, 0);
        printf("child %d\n", WEXITSTATUS(status));
    } else if (!strcmp(what, "late")) {
        void *library = dlopen("libgomp.so.1", RTLD_LAZY | RTLD_GLOBAL);
        if (!library || !dlsym(library, "omp_get_thread_num")) return 1;
        second();
    } else if (!strcmp(what, "empty") && count > 2) {
        long regions = atol(arguments[2]), begin = now_ns(CLOCK_MONOTONIC);
        for (long i = 0; i < regions; i++) {
#pragma omp parallel num_threads(2)
            __asm__ volatile("" ::: "memory");
        }
        printf("%ld\n", (now_ns(CLOCK_MONOTONIC) - begin) / regions);
    }
    return 0;
}
