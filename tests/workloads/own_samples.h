// How a program takes samples of itself, at moments that it chooses.
//
// The timers by which csprof samples the calling thread, one for each source, are found in
// /proc/self/timers (the kernel shows what proc_pid_timers(5) lists), stopped, and from then on stood
// in for: RAISE queues the profiling signal to the thread in the form in which a timer sends it, with
// the value that says whose it is. They take turns. Without csprof there is no timer, and nothing is
// raised. A timer may have sent one before it was stopped, which then is below `take_over`.
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

struct signal_source {
    // siginfo_t of a timer: include/uapi/asm-generic/siginfo.h.
    struct {
        int number, error, code, pad, timer, overrun;
        uint64_t value, rest[12];
    } info;
    long process, thread;
    // The system call, or -1, which is none.
    long call;
    // Values of the timers, and how many samples were taken.
    uint64_t values[4];
    unsigned long timers, taken;
};

__attribute__((noinline)) static void take_over(struct signal_source *source) {
    char line[128];
    long value = 0, owner;
    int id = -1;
    memset(source, 0, sizeof *source);
    source->process = getpid();
    source->thread = syscall(SYS_gettid);
    source->call = -1;
    source->info.number = SIGPROF;
    source->info.code = SI_TIMER;
    FILE *timers = fopen("/proc/self/timers", "r");
    while (timers && fgets(line, sizeof line, timers)) {
        sscanf(line, "ID: %d", &id);
        sscanf(line, "signal: 27/%lx", &value);
        if (sscanf(line, "notify: signal/tid.%ld", &owner) == 1 && owner == source->thread) {
            struct itimerspec never = {{0, 0}, {0, 0}};
            syscall(SYS_timer_settime, id, 0, &never, 0);
            source->info.value = value;
            if (source->timers < sizeof source->values / sizeof *source->values)
                source->values[source->timers++] = value;
            source->call = SYS_rt_tgsigqueueinfo;
        }
    }
    if (timers)
        fclose(timers);
}

// In place, so that the function that takes the sample is the innermost one in it. The signal
// arrives before the system call has returned.
#define RAISE(signal)                                                                              \
    do {                                                                                           \
        register long r10_ asm("r10") = (long)&(signal).info;                                      \
        long result_ = (signal).call;                                                              \
        if ((signal).timers)                                                                       \
            (signal).info.value = (signal).values[(signal).taken++ % (signal).timers];             \
        asm volatile("syscall"                                                                     \
                     : "+a"(result_)                                                               \
                     : "D"((signal).process), "S"((signal).thread), "d"((long)SIGPROF), "r"(r10_)  \
                     : "rcx", "r11", "memory");                                                    \
    } while (0)
