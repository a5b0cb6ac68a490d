/* A program with profilers of its own: SIGPROF by ITIMER_PROF, by a POSIX timer, by a file, and sent by
 * itself. It says in which handlers they arrived, with what mask, and what pending ones did. How many ticks
 * there were depends on the machine; that there were some does not. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static volatile unsigned long sink;
static volatile sig_atomic_t ticks, wrong;
static sigjmp_buf out;

static int blocked(int signal) {
    sigset_t now;
    sigprocmask(SIG_BLOCK, NULL, &now);
    return sigismember(&now, signal);
}

/* Runs with itself and SIGUSR2 blocked, as asked, and with nothing else. */
static void tick(int signal, siginfo_t *info, void *context) {
    ticks++;
    wrong += signal != SIGPROF || info->si_signo != SIGPROF || !context;
    wrong += !blocked(SIGPROF) || !blocked(SIGUSR2) || blocked(SIGUSR1) || blocked(SIGTERM);
}
static void plain(int signal) { ticks += signal == SIGPROF; }
static void leave(int signal) { siglongjmp(out, signal); }

__attribute__((noinline)) static void in_handler(void) {
    for (unsigned long i = 0; i < 30000000; i++) sink += i * i;
}
static void slow(int signal) {
    plain(signal);
    in_handler();
}

/* Until it has ticked often enough. The kernel's own clock of CPU time goes by its ticks, which may find
 * another process for long on a busy machine. */
__attribute__((noinline)) static void work(void) {
    clock_t start = clock(), least = start + CLOCKS_PER_SEC / 10, most = start + CLOCKS_PER_SEC * 10;
    do
        for (unsigned long i = 0; i < 100000; i++) sink += i * i;
    while (clock() < least || (ticks <= 3 && clock() < most));
}

static int taken(void) {
    int so_far = ticks;
    ticks = 0;
    return so_far;
}

static void set(void (*handler)(int), int flags) {
    struct sigaction action = {.sa_handler = handler, .sa_flags = flags};
    sigaction(SIGPROF, &action, NULL);
}

/* Reads that its own SIGPROF ends, or does not. The handler writes what is read then. */
static int pipes[2];
static void feed(int signal) {
    plain(signal);
    if (write(pipes[1], "x", 1) < 0) perror("write");
}
static int reads_ended(int flags) {
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGPROF};
    struct itimerspec once = {{0, 0}, {0, 1000000}};
    timer_t timer;
    char byte;
    int ended = 0;
    set(feed, flags);
    if (pipe(pipes) < 0) return -1;
    timer_create(CLOCK_MONOTONIC, &event, &timer);
    for (int i = 0; i < 100; i++) {
        timer_settime(timer, 0, &once, NULL);
        while (read(pipes[0], &byte, 1) < 0) ended += errno == EINTR;
    }
    timer_delete(timer);
    taken();
    return ended;
}

/* A thread inherits what is blocked where it is made. */
static void *inherits(void *unused) {
    wrong += !blocked(SIGPROF);
    return unused;
}

/* Blocks all and takes it back, as libraries do: what it finds and leaves is as alone. */
static void with_all_blocked(int signal) {
    sigset_t all, before;
    pthread_t thread;
    pthread_create(&thread, NULL, inherits, NULL);
    pthread_join(thread, NULL);
    plain(signal);
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, &before);
    wrong += !sigismember(&before, SIGPROF);
    sigprocmask(SIG_SETMASK, &before, NULL);
    wrong += !blocked(SIGPROF);
}

/* What signal(2) and its relatives ask for, as it reads back. */
static void print_action(const char *name) {
    struct sigaction now;
    sigaction(SIGPROF, NULL, &now);
    printf("%s: flags %x, itself %d, kill %d\n", name, (unsigned)now.sa_flags & ~0x4000000U,
           sigismember(&now.sa_mask, SIGPROF), sigismember(&now.sa_mask, SIGKILL));
}

static void *thread(void *main_thread) {
    pthread_kill(*(pthread_t *)main_thread, SIGPROF);
    raise(SIGPROF);
    return NULL;
}

int main(void) {
    struct sigaction action = {.sa_sigaction = tick, .sa_flags = SA_RESTART | SA_SIGINFO};
    struct itimerval often = {{0, 10000}, {0, 10000}}, never = {{0, 0}, {0, 0}};
    sigaddset(&action.sa_mask, SIGUSR2);
    sigaction(SIGPROF, &action, NULL);
    setitimer(ITIMER_PROF, &often, NULL);
    work();
    setitimer(ITIMER_PROF, &never, NULL);
    printf("interval timer: ticks %d, wrong %d\n", taken() > 3, wrong);

    timer_t timer;
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGPROF};
    struct itimerspec fast = {{0, 10000000}, {0, 10000000}};
    timer_create(CLOCK_PROCESS_CPUTIME_ID, &event, &timer);
    timer_settime(timer, 0, &fast, NULL);
    work();
    timer_delete(timer);
    printf("POSIX timer: ticks %d, wrong %d\n", taken() > 3, wrong);

    for (int i = 0; i < 100; i++) raise(SIGPROF);
    printf("raised: %d, wrong %d\n", taken(), wrong);
    kill(getpid(), SIGPROF);
    printf("killed: %d, wrong %d\n", taken(), wrong);
    int ends[2];
    pipe(ends);
    fcntl(ends[0], F_SETOWN, getpid());
    fcntl(ends[0], F_SETSIG, SIGPROF);
    fcntl(ends[0], F_SETFL, O_ASYNC);
    write(ends[1], "x", 1);
    printf("told by a file: %d, wrong %d\n", taken(), wrong);
    close(ends[0]), close(ends[1]);

    sigset_t prof;
    sigemptyset(&prof);
    sigaddset(&prof, SIGPROF);
    sigprocmask(SIG_BLOCK, &prof, NULL);
    raise(SIGPROF);
    raise(SIGPROF);
    int early = taken();
    sigprocmask(SIG_UNBLOCK, &prof, NULL);
    printf("blocked: %d, then %d\n", early, taken());

    pthread_t self = pthread_self(), other;
    pthread_create(&other, NULL, thread, &self);
    pthread_join(other, NULL);
    printf("to and in a thread: %d\n", taken());

    set(plain, SA_RESETHAND);
    raise(SIGPROF);
    struct sigaction now;
    sigaction(SIGPROF, NULL, &now);
    printf("once: %d, then default %d\n", taken(), now.sa_handler == SIG_DFL);

    signal(SIGPROF, SIG_IGN);
    raise(SIGPROF);
    printf("ignored: %d\n", taken());

    set(leave, 0);
    volatile int left = 0;
    for (int i = 0; i < 10; i++)
        if (sigsetjmp(out, 1) == 0) raise(SIGPROF);
        else left += !blocked(SIGPROF);
    printf("left: %d\n", left);

    set(slow, SA_NODEFER);
    for (int i = 0; i < 5; i++) raise(SIGPROF);
    printf("slow: %d\n", taken());

    /* On a busy machine the signal may be there before the read. */
    printf("ended: %d, not %d\n", reads_ended(0) > 80, reads_ended(SA_RESTART));

    set(with_all_blocked, 0);
    for (int i = 0; i < 5; i++) {
        raise(SIGPROF);
        wrong += blocked(SIGPROF);
    }
    printf("masks in a handler: %d, wrong %d\n", taken(), wrong);

    struct sigaction odd = {.sa_handler = plain, .sa_flags = SA_RESTART | 0x100};
    sigfillset(&odd.sa_mask);
    sigaction(SIGPROF, &odd, NULL);
    print_action("odd");
    signal(SIGPROF, plain);
    print_action("signal");
    sysv_signal(SIGPROF, plain);
    print_action("sysv_signal");
    return 0;
}
