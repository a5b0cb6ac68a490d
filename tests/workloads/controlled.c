/* Computes in `before`, has sampling paused, computes in `meanwhile`, has it resumed, and computes in
 * `after`: each for so many milliseconds of each thread's CPU time,
 * 10 calls of sched_yield(2), 10 requests of 1000 bytes of memory, and 700 bytes written to /dev/null.
 *
 *   controlled MILLISECONDS CSPROF [plain | threads | fork | exec | blocked | rate | stop | serve | hidden | waits |
 *                                   awaited | phase]
 *
 * Sampling is paused by `CSPROF control PID pause`, where PID is the parent's. threads: 96 threads,
 * of which 32 end and 32 begin in the pause. fork, exec: in the pause. blocked: a system call of its
 * own blocks the profiling signal from before the pause until after it. rate: no pause, but a quarter
 * of the samples from there on. stop: never resumed. serve: `before`
 * again and again until SIGTERM, and no control. hidden: the same of a process that is not dumpable,
 * so that only root may look at it. waits: as plain, while
 * a thread waits for the end of `after`; awaited: until the pause has begun. phase: no pause, but a phase `steady state`, in
 * which a child does as its parent; around it phases of the program's own, `first` and `second`. Prints for how long it knows sampling to have
 * been paused, in nanoseconds of the monotonic clock; and in a second line, but for serve and hidden, the CPU time of each
 * of the three, of all threads together, in nanoseconds: where a hypervisor takes time from the machine, a thread's clock
 * goes on, and passes the end that it waits for.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "csprof.h"
#include "kernel_call.h"

enum { THREADS = 32, YIELDS = 10, REQUESTS = 10, REQUESTED = 1000, WRITTEN = 700 };

static int nothing = -1;
static char written[WRITTEN];

/* CPU time of `before`, `meanwhile` and `after`; the child of a fork adds to it, too. */
static _Atomic int64_t *used;

static long milliseconds;
static const char *csprof;

static int64_t now_ns(clockid_t clock)
{
    struct timespec time;
    clock_gettime(clock, &time);
    return time.tv_sec * INT64_C(1000000000) + time.tv_nsec;
}

__attribute__((noinline)) static void release(void *memory)
{
    __asm__ volatile("" : : "r"(memory) : "memory");
    free(memory);
}

static void work(void)
{
    volatile double sum = 0;
    int64_t end = now_ns(CLOCK_THREAD_CPUTIME_ID) + milliseconds * 1000000;
    while (now_ns(CLOCK_THREAD_CPUTIME_ID) < end)
        for (int i = 0; i < 10000; i++)
            sum += i;
}

#define PHASE(name, number)                                                                        \
    __attribute__((noinline)) void name(void)                                                      \
    {                                                                                              \
        int64_t begin = now_ns(CLOCK_THREAD_CPUTIME_ID);                                           \
        work();                                                                                    \
        for (int i = 0; i < YIELDS; i++)                                                           \
            sched_yield();                                                                         \
        for (int i = 0; i < REQUESTS; i++)                                                         \
            release(malloc(REQUESTED));                                                            \
        if (write(nothing, written, WRITTEN) != WRITTEN)                                           \
            exit(10);                                                                              \
        used[number] += now_ns(CLOCK_THREAD_CPUTIME_ID) - begin;                                   \
        __asm__ volatile("");                                                                      \
    }
PHASE(before, 0)
PHASE(meanwhile, 1)
PHASE(after, 2)

/* The command is no part of the run. */
static void control(const char *action, const char *operand)
{
    char parent[16];
    int status = 0;
    snprintf(parent, sizeof parent, "%d", (int)getppid());
    pid_t child = fork();
    if (child == 0) {
        unsetenv("LD_PRELOAD");
        unsetenv("CSPROF_RUN_DIR");
        execl(csprof, csprof, "control", parent, action, operand, (char *)NULL);
        _exit(9);
    }
    if (waitpid(child, &status, 0) != child || status != 0)
        exit(7);
}

/* Threads and what they do at which stage. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int stage, done;

static void wait_for(int *what, int value)
{
    pthread_mutex_lock(&lock);
    while (*what < value)
        pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
}

static void add(int *what)
{
    pthread_mutex_lock(&lock);
    ++*what;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
}

static void take_part(int first, int last)
{
    static void (*const phases[])(void) = {before, meanwhile, after};
    for (int number = first; number <= last; number++) {
        wait_for(&stage, number);
        phases[number]();
        add(&done);
    }
}

static void *all(void *nothing)
{
    take_part(0, 2);
    return nothing;
}

static void *until_the_pause(void *nothing)
{
    take_part(0, 0);
    wait_for(&stage, 1);
    return nothing;
}

static void *from_the_pause(void *nothing)
{
    take_part(1, 2);
    return nothing;
}

static void start(pthread_t *threads, void *(*routine)(void *))
{
    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, routine, NULL))
            exit(8);
}

static void join(pthread_t *threads)
{
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
}

static volatile sig_atomic_t ends;

static void on_end(int signal)
{
    ends = signal;
}

static int64_t threads(void)
{
    pthread_t long_ones[THREADS], early[THREADS], late[THREADS];
    start(long_ones, all);
    start(early, until_the_pause);
    wait_for(&done, 2 * THREADS);
    control("pause", NULL);
    int64_t begin = now_ns(CLOCK_MONOTONIC);
    add(&stage);
    start(late, from_the_pause);
    join(early);
    wait_for(&done, 4 * THREADS);
    int64_t paused = now_ns(CLOCK_MONOTONIC) - begin;
    control("resume", NULL);
    add(&stage);
    join(long_ones);
    join(late);
    return paused;
}

static void *waiter(void *nothing)
{
    pthread_mutex_lock(&lock);
    done = 1;
    pthread_cond_broadcast(&changed);
    while (stage < 1)
        pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
    return nothing;
}

static void block(int how)
{
    uint64_t mask = UINT64_C(1) << (SIGPROF - 1);
    if (kernel_call(SYS_rt_sigprocmask, how, &mask, NULL, 8))
        exit(6);
}

/* Both compute in the pause, and after it. */
static int64_t with_child(int64_t begin)
{
    int to_parent[2], to_child[2], status = 0;
    char byte = 0;
    if (pipe(to_parent) || pipe(to_child))
        exit(5);
    pid_t child = fork();
    meanwhile();
    if (child == 0) {
        if (write(to_parent[1], &byte, 1) != 1 || read(to_child[0], &byte, 1) != 1)
            _exit(4);
        after();
        _exit(0);
    }
    if (read(to_parent[0], &byte, 1) != 1)
        exit(5);
    int64_t paused = now_ns(CLOCK_MONOTONIC) - begin;
    control("resume", NULL);
    if (write(to_child[1], &byte, 1) != 1)
        exit(5);
    after();
    if (waitpid(child, &status, 0) != child || status)
        exit(3);
    return paused;
}

int main(int argc, char **argv)
{
    const char *mode = argc > 3 ? argv[3] : "plain";
    int64_t paused = 0;
    milliseconds = atol(argv[1]);
    csprof = argv[2];
    nothing = open("/dev/null", O_WRONLY);
    used = mmap(NULL, 3 * sizeof *used, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (used == MAP_FAILED)
        return 12;
    if (!strcmp(mode, "threads")) {
        paused = threads();
    } else if (!strcmp(mode, "serve") || !strcmp(mode, "hidden")) {
        if (!strcmp(mode, "hidden") && prctl(PR_SET_DUMPABLE, 0))
            return 11;
        signal(SIGTERM, on_end);
        puts("serving");
        fflush(stdout);
        while (!ends)
            before();
    } else if (!strcmp(mode, "rate")) {
        before();
        control("rate", "cputime@50");
        after();
    } else if (!strcmp(mode, "phase")) {
        csprof_phase("first");
        before();
        control("phase", "steady state");
        csprof_phase("second");
        pid_t child = fork();
        meanwhile();
        if (child == 0)
            _exit(0);
        if (waitpid(child, NULL, 0) != child)
            return 3;
        control("phase", NULL);
        after();
    } else if (!strcmp(mode, "executed")) {
        used[0] = atoll(argv[4]);
        meanwhile();
        control("resume", NULL);
        after();
    } else {
        pthread_t waiting;
        int awaited = !strcmp(mode, "awaited"), waits = awaited || !strcmp(mode, "waits");
        if (waits && pthread_create(&waiting, NULL, waiter, NULL))
            return 8;
        if (waits)
            wait_for(&done, 1); /* it waits from here on */
        before();
        if (!strcmp(mode, "blocked"))
            block(SIG_BLOCK);
        control(strcmp(mode, "stop") ? "pause" : "stop", NULL);
        int64_t begin = now_ns(CLOCK_MONOTONIC);
        if (!strcmp(mode, "exec")) {
            char was_used[24];
            snprintf(was_used, sizeof was_used, "%lld", (long long)used[0]);
            execl("/proc/self/exe", argv[0], argv[1], argv[2], "executed", was_used, (char *)NULL);
        }
        if (awaited)
            add(&stage);
        if (!strcmp(mode, "fork")) {
            paused = with_child(begin);
        } else {
            meanwhile();
            paused = now_ns(CLOCK_MONOTONIC) - begin;
            if (strcmp(mode, "stop"))
                control("resume", NULL);
            if (!strcmp(mode, "blocked"))
                block(SIG_UNBLOCK);
            after();
            add(&stage);
            if (waits)
                pthread_join(waiting, NULL);
        }
    }
    printf("%lld\n", (long long)paused);
    if (strcmp(mode, "serve") && strcmp(mode, "hidden"))
        printf("%lld %lld %lld\n", (long long)used[0], (long long)used[1], (long long)used[2]);
    return 0;
}
