/* The floor under every profiler that is driven by signals: the kernel's task clock interrupts each
 * thread RATE times a second, as csprof's `-e task-clock@RATE` has it, and the handler only counts.
 * At the end the count is appended to the file FLOOR_OUT. Preloaded: FLOOR_RATE=1000 FLOOR_OUT=file. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static volatile unsigned long signals;
static int event = -1;

static void on_signal(int number) {
    (void)number;
    signals++;
}

__attribute__((constructor)) static void start(void) {
    const char *rate = getenv("FLOOR_RATE");
    struct perf_event_attr clock = {.type = PERF_TYPE_SOFTWARE, .size = sizeof clock};
    struct f_owner_ex owner = {F_OWNER_TID, (int)syscall(SYS_gettid)};
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    if (rate == NULL || getenv("FLOOR_OUT") == NULL) return;
    sigaction(SIGPROF, &action, NULL);
    clock.config = PERF_COUNT_SW_TASK_CLOCK;
    clock.sample_period = 1000000000UL / strtoul(rate, NULL, 10);
    clock.disabled = 1;
    clock.wakeup_events = 1;
    event = (int)syscall(SYS_perf_event_open, &clock, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
    if (event < 0) return;
    fcntl(event, F_SETSIG, SIGPROF);
    fcntl(event, F_SETOWN_EX, &owner);
    fcntl(event, F_SETFL, O_ASYNC | O_NONBLOCK);
    ioctl(event, PERF_EVENT_IOC_ENABLE, 0);
}

__attribute__((destructor)) static void end(void) {
    FILE *out = event < 0 ? NULL : fopen(getenv("FLOOR_OUT"), "a");
    if (out == NULL) return;
    ioctl(event, PERF_EVENT_IOC_DISABLE, 0);
    fprintf(out, "%lu\n", signals);
    fclose(out);
}
