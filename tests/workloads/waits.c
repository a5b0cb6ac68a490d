/* Waits for signals, with SIGPROF in every set. Each wait must end by the signal it was meant for. */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

static volatile sig_atomic_t got;
static void on_usr1(int signal) { got = signal; }

static volatile unsigned long sink;
static void burn(void) {
    for (unsigned long i = 0; i < 5000000; i++) sink += i * i;
}

/* Sends SIGUSR1 to this process after 20 ms, and again after each `interval` ms unless it is 0. */
static timer_t timer;
static void usr1_in_20_ms_and_every(int interval) {
    struct itimerspec soon = {{0, interval * 1000000}, {0, 20000000}};
    burn();
    got = 0;
    timer_settime(timer, 0, &soon, NULL);
}
static void usr1_in_20_ms(void) { usr1_in_20_ms_and_every(0); }

static void say(const char *what, int result, int error) {
    printf("%s: %d %s, handler got %s\n", what, result, result < 0 ? strerror(error) : "ok",
           got == SIGUSR1 ? "usr1" : got ? "another" : "none");
}

int main(void) {
    sigset_t usr1, all_but_usr1, all, usr1_and_prof;
    sigemptyset(&usr1);
    sigaddset(&usr1, SIGUSR1);
    sigfillset(&all);
    sigfillset(&all_but_usr1);
    sigdelset(&all_but_usr1, SIGUSR1);
    usr1_and_prof = usr1;
    sigaddset(&usr1_and_prof, SIGPROF);
    signal(SIGUSR1, on_usr1);
    struct sigevent send_usr1 = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1};
    timer_create(CLOCK_MONOTONIC, &send_usr1, &timer);
    sigprocmask(SIG_BLOCK, &usr1, NULL);

    usr1_in_20_ms();
    int result = sigsuspend(&all_but_usr1);
    say("sigsuspend", result, errno);
    usr1_in_20_ms();
    result = ppoll(NULL, 0, NULL, &all_but_usr1);
    say("ppoll", result, errno);
    usr1_in_20_ms();
    result = pselect(0, NULL, NULL, NULL, NULL, &all_but_usr1);
    say("pselect", result, errno);
    struct epoll_event event;
    int epoll = epoll_create1(0);
    usr1_in_20_ms();
    result = epoll_pwait(epoll, &event, 1, -1, &all_but_usr1);
    say("epoll_pwait", result, errno);
    usr1_in_20_ms();
    result = epoll_pwait2(epoll, &event, 1, NULL, &all_but_usr1);
    say("epoll_pwait2", result, errno);
    struct timespec millisecond = {0, 1000000};
    got = 0;
    result = ppoll(NULL, 0, &millisecond, NULL);
    say("ppoll without mask", result, errno);
    sigprocmask(SIG_UNBLOCK, &usr1, NULL);
    /* The signal may come before pause; the next one does not. */
    usr1_in_20_ms_and_every(20);
    result = pause();
    say("pause", result, errno);
    sigprocmask(SIG_BLOCK, &usr1, NULL);
    struct itimerspec stop = {{0, 0}, {0, 0}};
    timer_settime(timer, 0, &stop, NULL);
    struct timespec none = {0, 0};
    sigtimedwait(&usr1, NULL, &none);

    int number = 0;
    usr1_in_20_ms();
    result = sigwait(&usr1_and_prof, &number);
    printf("sigwait: %d %s\n", result, strsignal(number));
    siginfo_t info;
    usr1_in_20_ms();
    do result = sigwaitinfo(&usr1_and_prof, &info);
    while (result < 0 && errno == EINTR);
    printf("sigwaitinfo: %s\n", strsignal(result));
    struct timespec minute = {60, 0};
    usr1_in_20_ms();
    do result = sigtimedwait(&usr1_and_prof, &info, &minute);
    while (result < 0 && errno == EINTR);
    printf("sigtimedwait: %s\n", strsignal(result));
    result = sigtimedwait(&usr1_and_prof, &info, &none);
    printf("sigtimedwait without signal: %d %s\n", result, strerror(errno));

    int fd = signalfd(-1, &usr1_and_prof, 0);
    struct signalfd_siginfo record;
    usr1_in_20_ms();
    ssize_t size;
    do size = read(fd, &record, sizeof record);
    while (size < 0 && errno == EINTR);
    printf("signalfd: %zd %s\n", size, strsignal((int)record.ssi_signo));
    printf("signalfd again: %d\n", signalfd(fd, &all, 0) == fd);
    return 0;
}
