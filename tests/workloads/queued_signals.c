/* A thread for which 40 000 signals wait that it has blocked, each of which the kernel looks at before it delivers
 * another one, or half as many as may (timers of all the user's programs are counted, too), and which works for a
 * while. Writes to the file "queued" how many they are. */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>

__attribute__((noinline)) static unsigned work(long rounds) {
    volatile unsigned sum = 0;
    for (long i = 0; i < rounds; i++) sum += i;
    return sum;
}

int main(void) {
    int queued = 0;
    struct rlimit limit;
    getrlimit(RLIMIT_SIGPENDING, &limit);
    int most = limit.rlim_cur / 2 < 40000 ? (int)(limit.rlim_cur / 2) : 40000;
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGRTMIN + 3);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    while (queued < most && pthread_sigqueue(pthread_self(), SIGRTMIN + 3, (union sigval){queued}) == 0) queued++;
    FILE *file = fopen("queued", "w");
    fprintf(file, "%d", queued);
    fclose(file);
    printf("%u\n", work(200000000));
    return 0;
}
