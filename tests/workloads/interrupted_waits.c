/* Waits of every kind with a time limit, each right after some work: none may be cut short or end
 * with EINTR, and select says that no time is left. Arguments: how many of each, and "files" for
 * those that wait for files, or the name of one. */
#define _GNU_SOURCE
#include <aio.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <linux/futex.h>
#include <linux/io_uring.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

static __thread volatile unsigned long sink;
__attribute__((noinline)) static void burn(unsigned long n) {
    unsigned long sum = 0;
    for (unsigned long i = 0; i < n; i++) sum += i ^ (sum >> 3);
    sink = sum;
}

static struct timespec after(clockid_t clock, long nanoseconds) {
    struct timespec time;
    clock_gettime(clock, &time);
    time.tv_nsec += nanoseconds;
    time.tv_sec += time.tv_nsec / 1000000000;
    time.tv_nsec %= 1000000000;
    return time;
}

static int nothing[2], sockets[2], epoll, semaphores;
static const struct timespec short_time = {0, 300000};

static int by_poll(void) { return poll(&(struct pollfd){nothing[0], POLLIN, 0}, 1, 1); }
static int by_ppoll(void) { return ppoll(&(struct pollfd){nothing[0], POLLIN, 0}, 1, &short_time, NULL); }
static int by_select(void) {
    fd_set set;
    struct timeval time = {0, 300};
    FD_ZERO(&set);
    FD_SET(nothing[0], &set);
    int result = select(nothing[0] + 1, &set, NULL, NULL, &time);
    return result == 0 && time.tv_sec == 0 && time.tv_usec == 0 ? 0 : -1;
}
static int by_pselect(void) {
    fd_set set;
    FD_ZERO(&set);
    FD_SET(nothing[0], &set);
    return pselect(nothing[0] + 1, &set, NULL, NULL, &short_time, NULL);
}
static int by_epoll_wait(void) {
    struct epoll_event event;
    return epoll_wait(epoll, &event, 1, 1);
}
static int by_epoll_pwait(void) {
    struct epoll_event event;
    return epoll_pwait(epoll, &event, 1, 1, NULL);
}
static int by_nanosleep(void) { return nanosleep(&short_time, NULL); }
static int by_clock_nanosleep(void) {
    struct timespec until = after(CLOCK_MONOTONIC, 300000);
    errno = clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
    return errno ? -1 : 0;
}
static int by_usleep(void) { return usleep(300); }
static int timed_out(int result) { return result < 0 && errno != EINTR ? 0 : -1; }
static int by_sem_timedwait(void) {
    static __thread sem_t semaphore;
    struct timespec until = after(CLOCK_REALTIME, 300000);
    sem_init(&semaphore, 0, 0);
    return timed_out(sem_timedwait(&semaphore, &until));
}
static int by_semtimedop(void) {
    return timed_out(semtimedop(semaphores, &(struct sembuf){0, -1, 0}, 1, &short_time));
}
static int by_receive(void) {
    char byte;
    return timed_out((int)recv(sockets[0], &byte, 1, 0));
}
static int by_sigtimedwait(void) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    return timed_out(sigtimedwait(&set, NULL, &short_time));
}
static int by_condition(void) {
    static __thread pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    static __thread pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
    struct timespec until = after(CLOCK_REALTIME, 300000);
    pthread_mutex_lock(&mutex);
    errno = pthread_cond_timedwait(&condition, &mutex, &until);
    pthread_mutex_unlock(&mutex);
    return errno == ETIMEDOUT ? 0 : -1;
}

static int by_receive_checked(void) {
    char bytes[4];
    static volatile size_t size = 4;
    return timed_out((int)recv(sockets[0], bytes, size, 0));
}
static int by_send(void) {
    static char bytes[1 << 16];
    static __thread int full[2] = {-1, -1};
    struct timeval limit = {0, 1000};
    if (full[0] < 0) {
        socketpair(AF_UNIX, SOCK_STREAM, 0, full);
        while (send(full[0], bytes, sizeof bytes, MSG_DONTWAIT) > 0) {}
        setsockopt(full[0], SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    }
    return timed_out((int)send(full[0], bytes, sizeof bytes, 0));
}
static int by_aio_suspend(void) {
    static char byte;
    static struct aiocb block;
    const struct aiocb *blocks[1] = {&block};
    if (block.aio_buf == NULL) {
        block = (struct aiocb){.aio_fildes = nothing[0], .aio_buf = &byte, .aio_nbytes = 1};
        block.aio_sigevent.sigev_notify = SIGEV_NONE;
        aio_read(&block);
    }
    return timed_out(aio_suspend(blocks, 1, &short_time));
}
static int by_io_getevents(void) {
    static aio_context_t context;
    struct io_event event;
    /* Where there is none, nothing is waited for. */
    if (context == 0 && syscall(SYS_io_setup, 8, &context) < 0) return 0;
    return (int)syscall(SYS_io_getevents, context, 1L, 1L, &event, &short_time);
}
static int no_rings;

static int by_io_uring(void) {
    static int ring = -2;
    struct io_uring_params parameters = {0};
    struct io_uring_getevents_arg argument = {.ts = (unsigned long)&short_time};
    if (ring == -2) ring = (int)syscall(SYS_io_uring_setup, 8, &parameters);
    if (ring < 0) {
        no_rings = 1;
        return 0;
    }
    unsigned flags = IORING_ENTER_GETEVENTS | IORING_ENTER_EXT_ARG;
    return timed_out((int)syscall(SYS_io_uring_enter, ring, 0, 1, flags, &argument, sizeof argument));
}
static int by_futex(void) {
    static int word;
    return timed_out((int)syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, &short_time, NULL, 0));
}
/* Names that old libraries use. */
extern int __poll(struct pollfd *, nfds_t, int);
extern int __select(int, fd_set *, fd_set *, fd_set *, struct timeval *);
extern int __xpg_sigpause(int), __sigpause(int, int);
static int by_old_poll(void) { return __poll(&(struct pollfd){nothing[0], POLLIN, 0}, 1, 1); }
static int by_old_select(void) { return __select(0, NULL, NULL, NULL, &(struct timeval){0, 300}); }

/* Waits for a signal that is blocked else, and comes after the wait has begun. */
static volatile sig_atomic_t has_rung;
static void ring(int signal) { has_rung = signal; }
static int until_it_rings(int (*pause)(void)) {
    static timer_t timer;
    struct sigevent send = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR2};
    if (timer == NULL) {
        signal(SIGUSR2, ring);
        timer_create(CLOCK_MONOTONIC, &send, &timer);
    }
    has_rung = 0;
    /* Again and again, for the first one may come too early. */
    timer_settime(timer, 0, &(struct itimerspec){{0, 5000000}, {0, 500000}}, NULL);
    int result = pause();
    timer_settime(timer, 0, &(struct itimerspec){{0, 0}, {0, 0}}, NULL);
    return result == -1 && errno == EINTR && has_rung ? 0 : -1;
}
static int old_sigpause(void) { return __sigpause(0, 0); }
static int sigpause_2(void) { return __xpg_sigpause(SIGUSR2); }
static int old_sigpause_2(void) { return __sigpause(SIGUSR2, 1); }
static int by_sigpause(void) {
    return until_it_rings(old_sigpause) || until_it_rings(sigpause_2) || until_it_rings(old_sigpause_2) ? -1 : 0;
}
static int by_read(void) {
    char byte;
    return timed_out((int)read(sockets[0], &byte, 1));
}
/* Waits in the handler of a signal that is blocked there, and not longer. */
static volatile sig_atomic_t depth, deepest, is_sent;
static void wait_in_handler(int signal) {
    depth++;
    if (depth > deepest) deepest = depth;
    if (!is_sent) {
        is_sent = 1;
        syscall(SYS_tgkill, getpid(), (int)syscall(SYS_gettid), signal);
        nanosleep(&short_time, NULL);
    }
    depth--;
}
static int by_handler(void) {
    deepest = is_sent = 0;
    signal(SIGPROF, wait_in_handler);
    do raise(SIGPROF);
    while (!deepest);
    return deepest == 1 ? 0 : -1;
}
static int by_raw_nanosleep(void) { return (int)syscall(SYS_nanosleep, &short_time, NULL); }
/* Those that have no mask of their own. */
static int by_raw_ppoll(void) { return (int)syscall(SYS_ppoll, NULL, 0, &(struct timespec){0, 300000}, NULL, 8); }
static int by_raw_pselect(void) {
    const void *mask[2] = {NULL, (void *)8};
    struct timespec one = short_time, other = short_time;
    return (int)syscall(SYS_pselect6, 0, NULL, NULL, NULL, &one, NULL) ||
                   (int)syscall(SYS_pselect6, 0, NULL, NULL, NULL, &other, mask)
               ? -1
               : 0;
}
static int by_raw_epoll_pwait(void) {
    struct epoll_event event;
    return (int)syscall(SYS_epoll_pwait, epoll, &event, 1, 1, NULL, 8) ||
                   (int)syscall(SYS_epoll_pwait2, epoll, &event, 1, &short_time, NULL, 8)
               ? -1
               : 0;
}
static int raw_pause(void) {
    sigset_t usr2;
    sigemptyset(&usr2);
    sigaddset(&usr2, SIGUSR2);
    sigprocmask(SIG_UNBLOCK, &usr2, NULL);
    int result = (int)syscall(SYS_pause);
    sigprocmask(SIG_BLOCK, &usr2, NULL);
    return result;
}
static int by_raw_pause(void) { return until_it_rings(raw_pause); }

/* Space in a memory file system, where the kernel looks for signals at each page. */
static int by_fallocate(void) {
    static int file = -1;
    const off_t size = 8 << 20;
    if (file < 0) file = memfd_create("space", 0);
    int result = posix_fallocate(file, 0, size) != 0 || ftruncate(file, 0) < 0 || fallocate(file, 0, 0, size) < 0 ||
                 ftruncate(file, 0) < 0 || syscall(SYS_fallocate, file, 0, 0L, (long)size) < 0;
    return result || ftruncate(file, 0) < 0 ? -1 : 0;
}
/* The kernel looks for signals when the output of a terminal has been sent, which takes no time here. */
static int by_tcdrain(void) {
    static int terminal = -1;
    int ended = 0;
    if (terminal < 0) {
        int other = posix_openpt(O_RDWR | O_NOCTTY);
        grantpt(other);
        unlockpt(other);
        terminal = open(ptsname(other), O_RDWR | O_NOCTTY);
    }
    for (int call = 0; call < 500; call++)
        ended += tcdrain(terminal) < 0 || tcsendbreak(terminal, 0) < 0 || syscall(SYS_ioctl, terminal, TCSBRK, 1) < 0;
    return ended;
}

static const struct { const char *name; int (*wait)(void); } waits[] = {
    {"poll", by_poll}, {"ppoll", by_ppoll}, {"select", by_select}, {"pselect", by_pselect},
    {"epoll_wait", by_epoll_wait}, {"epoll_pwait", by_epoll_pwait}, {"nanosleep", by_nanosleep},
    {"clock_nanosleep", by_clock_nanosleep}, {"usleep", by_usleep},
    {"sem_timedwait", by_sem_timedwait}, {"semtimedop", by_semtimedop}, {"recv", by_receive},
    {"recv, checked", by_receive_checked}, {"send", by_send}, {"aio_suspend", by_aio_suspend},
    {"io_getevents", by_io_getevents}, {"io_uring_enter", by_io_uring}, {"futex", by_futex},
    {"raw nanosleep", by_raw_nanosleep}, {"__poll", by_old_poll}, {"__select", by_old_select},
    {"sigpause", by_sigpause}, {"read", by_read}, {"handler", by_handler},
    {"sigtimedwait", by_sigtimedwait}, {"pthread_cond_timedwait", by_condition},
    {"raw ppoll", by_raw_ppoll}, {"raw pselect6", by_raw_pselect}, {"raw epoll_pwait", by_raw_epoll_pwait},
    {"raw pause", by_raw_pause}, {"fallocate", by_fallocate}, {"tcdrain", by_tcdrain},
};

enum { KINDS = sizeof waits / sizeof waits[0] };

int main(int count, char **arguments) {
    int rounds = count > 1 ? atoi(arguments[1]) : 60, interrupted = 0;
    const char *only = count > 2 ? arguments[2] : NULL;
    unsigned kinds = only && strcmp(only, "files") == 0 ? 6 : KINDS;
    if (kinds < KINDS) only = NULL;
    struct timeval receive = {0, 1000};
    sigset_t usr1;
    sigemptyset(&usr1);
    sigaddset(&usr1, SIGUSR1);
    sigaddset(&usr1, SIGUSR2);
    sigprocmask(SIG_BLOCK, &usr1, NULL);
    if (pipe(nothing) < 0 || socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) < 0) return 1;
    setsockopt(sockets[0], SOL_SOCKET, SO_RCVTIMEO, &receive, sizeof receive);
    epoll = epoll_create1(0);
    epoll_ctl(epoll, EPOLL_CTL_ADD, nothing[0], &(struct epoll_event){.events = EPOLLIN});
    semaphores = semget(IPC_PRIVATE, 1, 0600);
    int found = 0;
    for (unsigned kind = 0; kind < kinds; kind++) {
        int ended = 0;
        if (only && strcmp(only, waits[kind].name) != 0) continue;
        found++;
        for (int round = 0; round < rounds; round++) {
            /* So that each wait begins at another moment of the sampling period. */
            burn(40000 + (unsigned long)round * 997 % 20011);
            ended += waits[kind].wait() != 0;
        }
        if (ended) printf("%s: %d ended early\n", waits[kind].name, ended);
        interrupted += ended;
    }
    semctl(semaphores, 0, IPC_RMID);
    if (!found) return 2;
    if (only && no_rings) puts("no io_uring");
    printf("interrupted %d\n", interrupted);
    return 0;
}
