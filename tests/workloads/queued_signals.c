/* A thread for which 40 000 signals wait that it has blocked, each of which the kernel looks at before it delivers
 * another one, or three quarters of what may (timers of all the user's programs are counted, too), and which works for a
 * while. Writes to the file "queued" how many they are. With an argument, it has no file number left meanwhile, by a
 * limit that it sets behind the C library's back. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "kernel_call.h"

__attribute__((noinline)) static unsigned work(long rounds) {
    volatile unsigned sum = 0;
    for (long i = 0; i < rounds; i++) sum += i;
    return sum;
}

int main(int count, char **arguments) {
    (void)arguments;
    int queued = 0;
    struct rlimit limit;
    getrlimit(RLIMIT_SIGPENDING, &limit);
    int most = limit.rlim_cur / 4 < 40000 / 3 ? (int)(limit.rlim_cur / 4 * 3) : 40000;
    FILE *file = fopen("queued", "w");
    if (count > 1) {
        struct rlimit few = {256, 256};
        kernel_call(SYS_setrlimit, RLIMIT_NOFILE, &few, 0, 0);
        while (open("/dev/null", O_RDONLY) >= 0);
    }
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGRTMIN + 3);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    while (queued < most && pthread_sigqueue(pthread_self(), SIGRTMIN + 3, (union sigval){queued}) == 0) queued++;
    fprintf(file, "%d", queued);
    fflush(file);
    printf("%u\n", work(200000000));
    return 0;
}
