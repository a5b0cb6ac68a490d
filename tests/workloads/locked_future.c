/*
 * Has the kernel lock what it maps from now on, of which it may lock 8 MB, and begins threads until
 * there is no more; each works and stays.
 */
#define _GNU_SOURCE
#include <linux/capability.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static sem_t works, ends;
static volatile unsigned sum;

static void work(long ms) {
    struct timespec now;
    do {
        for (unsigned i = 0; i < 1000; i++) sum += i;
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    } while (now.tv_sec * 1000 + now.tv_nsec / 1000000 < ms);
}

static void deep(int more) {
    volatile char frame[100];
    frame[0] = (char)more;
    if (more) deep(more - 1);
    else work(12);
    frame[1] = frame[0];
}

static void *run(void *nothing) {
    deep(30);
    sem_post(&works);
    sem_wait(&ends);
    return nothing;
}

int main(void) {
    /* Who may lock what it likes has no limit. */
    struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct rights[2];
    syscall(SYS_capget, &header, rights);
    rights[0].effective &= ~(1U << CAP_IPC_LOCK);
    syscall(SYS_capset, &header, rights);
    struct rlimit limit = {8 << 20, 8 << 20};
    setrlimit(RLIMIT_MEMLOCK, &limit);
    sem_init(&works, 0, 0);
    sem_init(&ends, 0, 0);
    printf("locked: %d\n", mlockall(MCL_FUTURE));
    pthread_attr_t small;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 128 << 10);
    pthread_t threads[200];
    int begun = 0;
    while (begun < 200 && !pthread_create(&threads[begun], &small, run, NULL)) {
        sem_wait(&works);
        begun++;
    }
    printf("threads: %d\n", begun);
    for (int i = 0; i < begun; i++) sem_post(&ends);
    for (int i = 0; i < begun; i++) pthread_join(threads[i], NULL);
    return 7;
}
