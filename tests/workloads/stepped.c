// A program that is executed one instruction at a time, as by a debugger that watches a variable in
// software.
//
//     program early|late|gone|refused
//
// early: it is executed under its tracer. late: the tracer comes while it runs. It counts steps in
// the program's own loop: alone that is each one. With a profiler in the process its handlers are
// stepped through, too, but the program has to go on. gone: the same as late, and then the tracer
// leaves it alone; it works on for some seconds, in which samples may still be far apart, then works
// elsewhere, says how many milliseconds of CPU time that took, and ends by itself. refused: the same
// as late, and no file number is left, without which the kernel opens nothing anew.
//
// To be linked at a fixed address, which the tracer knows.
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { OWN = 10000, MOST = 400000, LONG_AGO = 30000000 };
enum { SETTLES_MS = 4500, AFTERWARDS_MS = 2000 };

static volatile unsigned long counted;

__attribute__((noinline)) static void loop(volatile int *ends) {
    while (!*ends)
        counted = counted * 3 + 1;
}

static volatile int left;

static void leave(int signal) {
    (void)signal;
    left = 1;
}

static long cpu_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

__attribute__((noinline)) static void settles(void) {
    for (long before = cpu_ms(); cpu_ms() - before < SETTLES_MS;)
        for (long i = 0; i < 100000; i++)
            counted = counted * 3 + 1;
}

__attribute__((noinline)) static void afterwards(void) {
    for (long before = cpu_ms(); cpu_ms() - before < AFTERWARDS_MS;)
        for (long i = 0; i < 100000; i++)
            counted = counted * 5 + 1;
}

static int work(int said, int is_refused) {
    if (is_refused)
        setrlimit(RLIMIT_NOFILE, &(struct rlimit){0, 0});
    signal(SIGUSR2, leave);
    // Samples are under way by then.
    for (long i = 0; i < LONG_AGO; i++)
        counted = counted * 3 + 1;
    if (said >= 0)
        write(said, "", 1);
    else
        raise(SIGUSR1);
    loop(&left);
    settles();
    long before = cpu_ms();
    afterwards();
    fprintf(stderr, "afterwards %ld\n", cpu_ms() - before);
    return 0;
}

int main(int count, char **arguments) {
    const char *how = count > 1 ? arguments[1] : "";
    if (!strcmp(how, "own"))
        return work(-1, 0);
    int said[2], status, is_early = !strcmp(how, "early");
    if (pipe(said))
        return 1;
    pid_t child = fork();
    if (child == 0) {
        if (!is_early)
            _exit(work(said[1], !strcmp(how, "refused")));
        if (ptrace(PTRACE_TRACEME, 0, 0, 0))
            _exit(1);
        execl("/proc/self/exe", "program", "own", NULL);
        _exit(1);
    }
    if (is_early) {
        int signal = 0;
        do {
            if (waitpid(child, &status, 0) != child || !WIFSTOPPED(status))
                return 2;
            signal = WSTOPSIG(status);
        } while (signal != SIGUSR1 && !ptrace(PTRACE_CONT, child, 0, signal == SIGTRAP ? 0 : signal));
    } else {
        char byte;
        read(said[0], &byte, 1);
        if (ptrace(PTRACE_SEIZE, child, 0, 0) || ptrace(PTRACE_INTERRUPT, child, 0, 0))
            return 3;
        waitpid(child, &status, 0);
    }
    long own = 0, steps = 0;
    int signal = 0;
    while (own < OWN && steps < MOST && !ptrace(PTRACE_SINGLESTEP, child, 0, signal)) {
        struct user_regs_struct registers;
        if (waitpid(child, &status, 0) != child || !WIFSTOPPED(status))
            return 4;
        signal = WSTOPSIG(status);
        if (signal == SIGTRAP && !ptrace(PTRACE_GETREGS, child, 0, &registers)) {
            signal = 0;
            steps++;
            own += registers.rip - (unsigned long)loop < 64;
        }
    }
    if (!strcmp(how, "gone")) {
        kill(child, SIGUSR2);
        ptrace(PTRACE_DETACH, child, 0, signal);
    } else {
        kill(child, SIGKILL);
    }
    waitpid(child, &status, 0);
    puts(own == OWN ? "went on" : "did not go on");
    return 0;
}
