/* Built with -pg: the start-up code starts the C library's profiler, which takes SIGPROF without
 * asking. With the argument "kernel" it says whose handler the kernel calls instead of working. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include "kernel_call.h"

extern int profil(unsigned short *buffer, size_t size, size_t offset, unsigned int scale);

static volatile unsigned long sink;
__attribute__((noinline)) static void hot(void) {
    for (unsigned long i = 0; i < 10000000; i++) sink += i * i;
}

static void ask_kernel(void) {
    struct {
        void *handler;
        unsigned long flags;
        void *restorer;
        unsigned long mask;
    } action;
    Dl_info info;
    struct itimerval timer;
    kernel_call(SYS_rt_sigaction, SIGPROF, NULL, &action, 8);
    syscall(SYS_getitimer, ITIMER_PROF, &timer);
    const char *name = "nobody";
    if (dladdr(action.handler, &info)) name = info.dli_fname;
    name = strstr(name, "csprof_collector") ? "csprof_collector" : name;
    printf("%s, timer %d\n", name, timer.it_value.tv_sec != 0 || timer.it_value.tv_usec != 0);
}

int main(int argc, char **argv) {
    if (argc > 1 && strcmp(argv[1], "kernel") == 0) {
        ask_kernel();
        return 0;
    }
    static unsigned short buffer[16];
    int on = profil(buffer, sizeof buffer, 0, 2), off = profil(NULL, 0, 0, 0);
    int counted = 0;
    for (int i = 0; i < 16; i++) counted += buffer[i];
    printf("profil %d %d, counted %d\n", on, off, counted);
    for (int i = 0; i < 5; i++) hot();
    printf("done %d\n", 5);
    return 0;
}
