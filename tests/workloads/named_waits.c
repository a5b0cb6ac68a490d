/* Waits 150 ms in each way that has a function of its own here, and computes for 100 ms. What a
 * function waits for, its name says. With the argument `page` also for a page of its memory, which another
 * thread fills in after a while (userfaultfd(2)); says so where it cannot. With `copies` it does nothing but copy
 * memory by an instruction that repeats, between sleeps, for a third of a second; with `touches` it is the first to
 * use fresh pages instead, after sleeps that are shorter. */
#define _GNU_SOURCE
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline, noclone))

/* Much longer than a thread that has what it waits for is kept from a processor. */
enum { SOME_MS = 150, COMPUTED_MS = 100 };
static const struct timespec SOME = {.tv_nsec = SOME_MS * 1000000};
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int pipes[2], sockets[2];
static sem_t begun, wanted;
static volatile unsigned sink;

static void pause_some(void) { clock_nanosleep(CLOCK_MONOTONIC, 0, &SOME, NULL); }

static struct timespec in_some(void) {
    struct timespec at;
    clock_gettime(CLOCK_REALTIME, &at);
    at.tv_nsec += SOME.tv_nsec;
    if (at.tv_nsec >= 1000000000) at.tv_sec++, at.tv_nsec -= 1000000000;
    return at;
}

/* Until somebody is about to wait, and for a while: who comes late waits as long. */
static void pause_from_wish(void) { sem_wait(&wanted), pause_some(); }

/* Gives the others what they wait for, each after a while. */
static void *gives(void *nothing) {
    pthread_mutex_lock(&mutex);
    sem_post(&begun);
    pause_from_wish();
    pthread_mutex_unlock(&mutex);
    pause_from_wish();
    char byte = 0;
    if (write(pipes[1], &byte, 1) != 1) return NULL;
    pause_from_wish();
    send(sockets[1], &byte, 1, 0);
    return nothing;
}

NOINLINE void waits_futex(void) { pthread_mutex_lock(&mutex), pthread_mutex_unlock(&mutex), sink++; }
NOINLINE void waits_read(void) { char byte; if (read(pipes[0], &byte, 1) == 1) sink++; }
NOINLINE void waits_recvfrom(void) { char byte; if (recv(sockets[0], &byte, 1, 0) == 1) sink++; }
NOINLINE void waits_ppoll(void) { poll(NULL, 0, SOME_MS), sink++; }
NOINLINE void waits_pselect6(void) { struct timeval some = {.tv_usec = SOME_MS * 1000}; select(0, NULL, NULL, NULL, &some), sink++; }
NOINLINE void waits_clock_nanosleep(void) { usleep(SOME_MS * 1000), sink++; }

NOINLINE void waits_epoll_pwait(void) {
    struct epoll_event event;
    int queue = epoll_create1(0);
    epoll_wait(queue, &event, 1, SOME_MS);
    close(queue);
}

NOINLINE void waits_wait4(void) {
    pid_t child = fork();
    if (child == 0) pause_some(), _exit(0);
    waitpid(child, NULL, 0);
    sink++;
}

NOINLINE void waits_with_limit(void) {
    struct timespec end = in_some();
    sem_t none;
    sem_init(&none, 0, 0);
    sem_timedwait(&none, &end);
    sink++;
}

enum { PAGE = 4096 };
static char *lazy_page;

static void *fills_page(void *argument) {
    int faults = *(int *)argument;
    struct uffd_msg message;
    if (read(faults, &message, sizeof message) != sizeof message) return NULL;
    pause_some();
    struct uffdio_zeropage filled = {.range = {(unsigned long)lazy_page, PAGE}};
    ioctl(faults, UFFDIO_ZEROPAGE, &filled);
    return NULL;
}

NOINLINE void waits_for_page(void) { sink += *(volatile char *)lazy_page; }

static void meets_page(void) {
    int faults = syscall(SYS_userfaultfd, O_CLOEXEC | 1 /* UFFD_USER_MODE_ONLY */);
    struct uffdio_api api = {.api = UFFD_API};
    lazy_page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct uffdio_register range = {{(unsigned long)lazy_page, PAGE}, UFFDIO_REGISTER_MODE_MISSING, 0};
    if (faults < 0 || ioctl(faults, UFFDIO_API, &api) || ioctl(faults, UFFDIO_REGISTER, &range)) {
        puts("no userfaultfd");
        return;
    }
    pthread_t filler;
    pthread_create(&filler, NULL, fills_page, &faults);
    waits_for_page();
    pthread_join(filler, NULL);
}

static long cpu_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return now.tv_sec * 1000000000 + now.tv_nsec;
}

NOINLINE void computes(void) {
    for (long end = cpu_ns() + COMPUTED_MS * 1000000L; cpu_ns() < end;)
        for (unsigned i = 0; i < 100000; i++) sink += i;
}

NOINLINE void copies(void) {
    static char from[1 << 20], to[1 << 20];
    const char *source = from;
    char *target = to;
    unsigned long count = sizeof from;
    __asm__ volatile("rep movsb" : "+S"(source), "+D"(target), "+c"(count) : : "memory");
}

enum { FRESH = 200 * PAGE };

NOINLINE void touches(volatile char *fresh) {
    for (int at = 0; at < FRESH; at += PAGE) fresh[at] = 1;
}

int main(int argc, char **argv) {
    if (argc > 1 && argv[1][0] == 't') {
        char *fresh = mmap(NULL, FRESH, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (fresh == MAP_FAILED) return 1;
        for (int i = 0; i < 600; i++) usleep(100), touches(fresh), madvise(fresh, FRESH, MADV_DONTNEED);
        return 0;
    }
    if (argc > 1 && argv[1][0] == 'c') {
        for (int i = 0; i < 200; i++) usleep(1500), copies();
        return 0;
    }
    pthread_t giver;
    sem_init(&begun, 0, 0);
    sem_init(&wanted, 0, 0);
    if (pipe(pipes) != 0 || socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) != 0) return 1;
    pthread_create(&giver, NULL, gives, NULL);
    sem_wait(&begun);
    sem_post(&wanted);
    waits_futex();
    sem_post(&wanted);
    waits_read();
    sem_post(&wanted);
    waits_recvfrom();
    waits_ppoll();
    waits_pselect6();
    waits_epoll_pwait();
    waits_clock_nanosleep();
    waits_with_limit();
    waits_wait4();
    computes();
    if (argc > 1) meets_page();
    pthread_join(giver, NULL);
    return 0;
}
