/* Meets known numbers of events of the kernel's.
 *
 * few N, many 3 N: pages that are touched for the first time, one page fault each.
 * no_files N: as these, with no file number left.
 * naps N: sleeps, one context switch each, unless it is over before the processor is given up;
 * says how many there were.
 * threads N: 60 threads, each touching N pages.
 * children N: a child of fork, and a program by exec in another one, each touching N pages; the
 * parent closes all files that it knows nothing of before it touches as many.
 * trap N: sets a handler for SIGTRAP between naps, and touches N pages then.
 * by_hand N: touches N pages; a child that is forked behind the C library's back touches as many, and
 * sends itself SIGPROF.
 * reads N: N pages that the kernel touches first, 16 in each of its calls; then as many in one call.
 * loop N: N times two instructions. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline))

static NOINLINE void touch(volatile char *pages, long count)
{
    for (long page = 0; page < count; page++)
        pages[page * 4096] = 1;
}

static NOINLINE void fresh(long count)
{
    char *pages = mmap(NULL, count * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
                       -1, 0);
    if (pages == MAP_FAILED)
        exit(1);
    madvise(pages, count * 4096, MADV_NOHUGEPAGE);
    touch(pages, count);
    munmap(pages, count * 4096);
}

static NOINLINE void take(int file, char *pages, long count)
{
    if (read(file, pages, count * 4096) != count * 4096)
        exit(1);
    __asm__ volatile("");
}

static NOINLINE void portions(int file, char *pages, long count)
{
    for (long page = 0; page < count; page += 16)
        take(file, pages + page * 4096, count - page < 16 ? count - page : 16);
}

static NOINLINE void at_once(int file, char *pages, long count)
{
    take(file, pages, count);
    __asm__ volatile("");
}

static NOINLINE void reads(long count)
{
    int file = open("/dev/zero", O_RDONLY);
    char *pages = mmap(NULL, count * 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
                       -1, 0);
    if (file < 0 || pages == MAP_FAILED)
        exit(1);
    madvise(pages, count * 8192, MADV_NOHUGEPAGE);
    portions(file, pages, count);
    at_once(file, pages + count * 4096, count);
    munmap(pages, count * 8192);
    close(file);
}

static NOINLINE void few(long count)
{
    fresh(count);
    __asm__ volatile("");
}

static NOINLINE void many(long count)
{
    for (int i = 0; i < 3; i++)
        fresh(count);
}

static NOINLINE void nap(void)
{
    struct timespec time = {0, 100000};
    nanosleep(&time, NULL);
    __asm__ volatile("");
}

static NOINLINE void naps(long count)
{
    for (long i = 0; i < count; i++)
        nap();
}

static void *thread(void *count)
{
    few((long)count);
    return NULL;
}

static volatile sig_atomic_t trapped;

static void on_trap(int signal)
{
    (void)signal;
    trapped++;
}

static NOINLINE void loop(unsigned long count)
{
    __asm__ volatile("1: dec %0\n\tjne 1b" : "+r"(count) : : "cc");
}

static void on_profile(int signal)
{
    (void)signal;
    trapped++;
}

/* Whether the child got both signals and ended as it meant to. */
static int by_hand(long count)
{
    int status = 0;
    signal(SIGPROF, on_profile);
    few(count);
    pid_t pid = syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
    if (pid == 0) {
        syscall(SYS_kill, syscall(SYS_getpid), SIGPROF);
        few(count);
        syscall(SYS_kill, syscall(SYS_getpid), SIGPROF);
        syscall(SYS_exit_group, trapped == 2 ? 7 : 8);
    }
    waitpid(pid, &status, 0);
    return status;
}

static void child(long count, char *program)
{
    char text[32];
    pid_t pid = fork();
    if (pid == 0 && program) {
        snprintf(text, sizeof text, "%ld", count);
        execl(program, program, "few", text, (char *)NULL);
        _exit(127);
    }
    if (pid == 0) {
        few(count);
        exit(0);
    }
    waitpid(pid, NULL, 0);
}

int main(int argc, char **argv)
{
    const char *what = argv[1];
    long count = argc > 2 ? atol(argv[2]) : 0;
    if (!strcmp(what, "few")) {
        few(count);
    } else if (!strcmp(what, "faults")) {
        few(count);
        many(count);
    } else if (!strcmp(what, "no_files")) {
        setrlimit(RLIMIT_NOFILE, &(struct rlimit){0, 0});
        few(count);
        many(count);
    } else if (!strcmp(what, "naps")) {
        struct rusage before, after;
        getrusage(RUSAGE_SELF, &before);
        naps(count);
        getrusage(RUSAGE_SELF, &after);
        printf("gave up the processor %ld, lost it %ld\n", after.ru_nvcsw - before.ru_nvcsw,
               after.ru_nivcsw - before.ru_nivcsw);
    } else if (!strcmp(what, "threads")) {
        for (int i = 0; i < 60; i++) {
            pthread_t id;
            pthread_create(&id, NULL, thread, (void *)count);
            pthread_join(id, NULL);
        }
    } else if (!strcmp(what, "children")) {
        child(count, NULL);
        child(count, argv[0]);
        for (int number = 3; number < 1100; number++)
            close(number);
        few(count);
    } else if (!strcmp(what, "trap")) {
        naps(20);
        signal(SIGTRAP, on_trap);
        naps(20);
        few(count);
        raise(SIGTRAP);
        printf("trapped %d\n", trapped);
    } else if (!strcmp(what, "by_hand")) {
        printf("child ended with %d\n", by_hand(count));
    } else if (!strcmp(what, "reads")) {
        reads(count);
    } else if (!strcmp(what, "loop")) {
        loop(count);
    }
    puts("done");
    return 0;
}
