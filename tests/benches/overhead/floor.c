/* The floor under every profiler that is driven by signals: each thread is interrupted RATE times a second
 * of its CPU time, in one of the ways in which csprof has it, and the handler only counts. At the end the
 * count is appended to the file FLOOR_OUT. Preloaded: FLOOR_RATE=1000 FLOOR_BY=trap FLOOR_OUT=file.
 *
 * tick: a POSIX timer; interrupt: the kernel's task clock, by a signal through the event's file; trap: the
 * same event, by SIGTRAP. A program with a handler of its own for SIGTRAP has it from there on, and the
 * event goes on by its file, as csprof's. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* struct perf_event_attr as of Linux 5.13, whatever the headers here know. */
struct attributes {
    struct perf_event_attr first;
    char rest[256];
};
enum { SIZE = 128, FLAGS = 40 };

typedef int set_action(int, const struct sigaction *, struct sigaction *);

static volatile unsigned long signals;
static int event = -1, trap, thread;
static long period;
static timer_t timer;
static int has_timer;

static void on_signal(int number) {
    (void)number;
    signals++;
}

static set_action *real_action(void) { return (set_action *)dlsym(RTLD_NEXT, "sigaction"); }

static void handle(int number) {
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    real_action()(number, &action, NULL);
}

static void start_timer(void) {
    struct sigevent to = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGPROF};
    struct itimerspec each = {{0, period}, {0, period}};
    to._sigev_un._tid = thread;
    has_timer = timer_create(CLOCK_THREAD_CPUTIME_ID, &to, &timer) == 0 &&
                timer_settime(timer, 0, &each, NULL) == 0;
}

static void start_event(void) {
    struct attributes clock;
    struct f_owner_ex owner = {F_OWNER_TID, thread};
    memset(&clock, 0, sizeof clock);
    clock.first.type = PERF_TYPE_SOFTWARE;
    clock.first.size = SIZE;
    clock.first.config = PERF_COUNT_SW_TASK_CLOCK;
    clock.first.sample_period = (unsigned long)period;
    clock.first.disabled = 1;
    clock.first.wakeup_events = 1;
    /* remove_on_exec and sigtrap */
    if (trap) *(unsigned long *)((char *)&clock + FLAGS) |= 1UL << 36 | 1UL << 37;
    event = (int)syscall(SYS_perf_event_open, &clock, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
    if (event < 0) return;
    if (!trap) {
        fcntl(event, F_SETSIG, SIGPROF);
        fcntl(event, F_SETOWN_EX, &owner);
        fcntl(event, F_SETFL, O_ASYNC | O_NONBLOCK);
    }
    ioctl(event, PERF_EVENT_IOC_ENABLE, 0);
}

__attribute__((constructor)) static void start(void) {
    const char *rate = getenv("FLOOR_RATE"), *by = getenv("FLOOR_BY");
    if (rate == NULL || by == NULL || getenv("FLOOR_OUT") == NULL) return;
    trap = strcmp(by, "trap") == 0;
    thread = (int)syscall(SYS_gettid);
    period = 1000000000L / strtol(rate, NULL, 10);
    handle(trap ? SIGTRAP : SIGPROF);
    if (strcmp(by, "tick") == 0)
        start_timer();
    else
        start_event();
}

int sigaction(int number, const struct sigaction *new, struct sigaction *old) {
    if (trap && number == SIGTRAP && new != NULL) {
        close(event);
        trap = 0;
        handle(SIGPROF);
        start_event();
    }
    return real_action()(number, new, old);
}

__attribute__((destructor)) static void end(void) {
    FILE *out = event < 0 && !has_timer ? NULL : fopen(getenv("FLOOR_OUT"), "a");
    if (out == NULL) return;
    if (has_timer) timer_delete(timer);
    else ioctl(event, PERF_EVENT_IOC_DISABLE, 0);
    fprintf(out, "%lu\n", signals);
    fclose(out);
}
