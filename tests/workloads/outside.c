/* Runs until the file named by its second argument is there, in a way named by its first:
 *
 *   shares    three() takes three times as long as one(), which takes longer from turn to turn, and
 *             then begins anew: no period is a multiple of a sampling period for long
 *   depth     works at the bottom of 40 calls of down(), of 64 bytes each
 *   deep      the same of 4000 calls
 *   threads   begins threads that work in later(), one after the other, 20 ms each
 *   begins    on one processor: begin_others() works 1 ms, and begins a thread that works for a
 *             moment, in turn
 *   heirs     the same in threads of 1 s of CPU time, one after the other
 *   forks     begins processes that work in child_work(), one after the other, 20 ms each
 *   execs     the same, and each executes this program, as `once`: child_work()
 *   crowd     1000 threads, each of which works for a moment and waits
 *   generated works in code that it has generated, and named in its perf map
 *   named     takes names that end within a character
 *   ends      works for two seconds of CPU time and ends with status 3, file or not
 *   orphans   its main thread begins one that works in orphan(), and ends alone
 *
 * It makes a file `begun` when it is at work: in depth and deep at the bottom of the calls, in crowd
 * when all threads are there. In threads, forks and execs it appends a byte to a file `others` for
 * each that it begins. It is compiled with and without frame pointers. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static volatile unsigned long sum;
static const char *end;

static int told(void) {
    return access(end, F_OK) == 0;
}

static void begun(void) {
    FILE *file = fopen("begun", "w");
    if (file == NULL) abort();
    fclose(file);
}

static void count_other(void) {
    int file = open("others", O_WRONLY | O_CREAT | O_APPEND, 0666);
    if (file < 0 || write(file, "", 1) != 1) abort();
    close(file);
}

__attribute__((noinline)) static void burn(unsigned long rounds) {
    for (unsigned long i = 0; i < rounds; i++) sum += i;
}

__attribute__((noinline)) static void one(unsigned long rounds) {
    burn(rounds);
    __asm__ volatile("");
}

__attribute__((noinline)) static void three(unsigned long rounds) {
    burn(3 * rounds);
    __asm__ volatile("");
}

__attribute__((noinline)) static void bottom(void) {
    begun();
    while (!told()) burn(1000000);
    __asm__ volatile("");
}

__attribute__((noinline)) static void down(int calls) {
    volatile char room[40];
    room[0] = 0;
    if (calls > 1)
        down(calls - 1);
    else
        bottom();
    sum += room[0];
}

static void work_ms(clockid_t clock, long milliseconds) {
    struct timespec used;
    do {
        burn(10000);
        clock_gettime(clock, &used);
    } while (used.tv_sec * 1000 + used.tv_nsec / 1000000 < milliseconds);
}

__attribute__((noinline)) static void *later(void *unused) {
    work_ms(CLOCK_THREAD_CPUTIME_ID, 20);
    __asm__ volatile("");
    return unused;
}

static void *moment(void *unused) {
    burn(10000);
    return unused;
}

static void run_thread(void *(*work)(void *), void *argument) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, work, argument) != 0) abort();
    pthread_join(thread, NULL);
}

/* For so many milliseconds of its CPU time. */
__attribute__((noinline)) static void *begin_others(void *milliseconds) {
    for (long used = 0; used < (long)milliseconds && !told();) {
        work_ms(CLOCK_THREAD_CPUTIME_ID, used += 1);
        run_thread(moment, NULL);
    }
    return NULL;
}

static void stay_on_one_processor(void) {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    if (sched_setaffinity(0, sizeof one, &one) != 0) abort();
}

__attribute__((noinline)) static void child_work(void) {
    work_ms(CLOCK_PROCESS_CPUTIME_ID, 20);
    __asm__ volatile("");
}

static void *orphan(void *unused) {
    while (!told()) burn(1000000);
    exit(0);
    return unused;
}

static void *one_of_many(void *unused) {
    while (!told()) {
        burn(100000);
        usleep(500000);
    }
    return unused;
}

static void crowd(void) {
    pthread_attr_t small;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 64 << 10);
    pthread_t threads[1000];
    for (int i = 0; i < 1000; i++)
        if (pthread_create(&threads[i], &small, one_of_many, NULL) != 0) abort();
    begun();
    for (int i = 0; i < 1000; i++) pthread_join(threads[i], NULL);
}

/* Counts its argument down to 0: push rbp; mov rbp, rsp; dec rdi; jnz to the dec; pop rbp; ret. */
static const unsigned char CODE[] = {0x55, 0x48, 0x89, 0xe5, 0x48, 0xff, 0xcf,
                                     0x75, 0xfb, 0x5d, 0xc3};

static void generated(void) {
    int rights = PROT_READ | PROT_WRITE | PROT_EXEC;
    void *place = mmap(NULL, 4096, rights, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (place == MAP_FAILED) abort();
    memcpy(place, CODE, sizeof CODE);
    char path[64];
    snprintf(path, sizeof path, "/tmp/perf-%d.map", (int)getpid());
    FILE *map = fopen(path, "w");
    if (map == NULL) abort();
    fprintf(map, "%lx %zx made_at_run_time\n", (unsigned long)place, sizeof CODE);
    fclose(map);
    while (!told()) ((void (*)(unsigned long))place)(10000000);
    unlink(path);
}

static void children(const char *program, int executes) {
    while (!told()) {
        count_other();
        pid_t child = fork();
        if (child == 0) {
            if (executes) execl(program, program, "once", end, (char *)NULL);
            child_work();
            _exit(0);
        }
        waitpid(child, NULL, 0);
    }
}

int main(int argc, char **argv) {
    if (argc != 3) return 2;
    const char *way = argv[1];
    end = argv[2];
    if (strcmp(way, "depth") != 0 && strcmp(way, "deep") != 0 && strcmp(way, "crowd") != 0) begun();
    if (strcmp(way, "shares") == 0) {
        for (unsigned long turn = 0; !told(); turn++) {
            unsigned long rounds = 1000000 + turn * 7919 % 300000;
            one(rounds);
            three(rounds);
        }
    } else if (strcmp(way, "depth") == 0) {
        down(40);
    } else if (strcmp(way, "deep") == 0) {
        down(4000);
    } else if (strcmp(way, "threads") == 0) {
        while (!told()) {
            count_other();
            run_thread(later, NULL);
        }
    } else if (strcmp(way, "begins") == 0) {
        stay_on_one_processor();
        begin_others((void *)LONG_MAX);
    } else if (strcmp(way, "heirs") == 0) {
        stay_on_one_processor();
        while (!told()) run_thread(begin_others, (void *)1000);
    } else if (strcmp(way, "crowd") == 0) {
        crowd();
    } else if (strcmp(way, "generated") == 0) {
        generated();
    } else if (strcmp(way, "named") == 0) {
        while (!told()) {
            prctl(PR_SET_NAME, sum % 2 ? "a\303" : "b\303");
            burn(10000001);
        }
    } else if (strcmp(way, "once") == 0) {
        child_work();
    } else if (strcmp(way, "ends") == 0) {
        work_ms(CLOCK_PROCESS_CPUTIME_ID, 2000);
        return 3;
    } else if (strcmp(way, "orphans") == 0) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, orphan, NULL) != 0) abort();
        pthread_exit(NULL);
    } else {
        children(argv[0], strcmp(way, "execs") == 0);
    }
    return 0;
}
