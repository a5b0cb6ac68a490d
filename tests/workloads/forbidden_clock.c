/* Reads no clock while it may not read the processor's. */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <unistd.h>

int main(void) {
    pthread_mutexattr_t robust;
    pthread_mutex_t mutex;
    int file = open("/dev/null", O_WRONLY);
    pthread_mutexattr_init(&robust);
    pthread_mutexattr_setrobust(&robust, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(&mutex, &robust);
    if (prctl(PR_SET_TSC, PR_TSC_SIGSEGV)) return 1;
    for (int round = 0; round < 1000; round++) {
        pthread_mutex_lock(&mutex);
        if (write(file, &file, sizeof file) != sizeof file) return 2;
        pthread_mutex_unlock(&mutex);
    }
    prctl(PR_SET_TSC, PR_TSC_ENABLE);
    puts("worked");
    return 0;
}
