/* waiting_threads N: so many threads wait for two seconds, on a condition that the kernel would go on waiting for
 * after a signal. */
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static int over;

static void *waits(void *argument) {
    pthread_mutex_lock(&mutex);
    while (!over) pthread_cond_wait(&condition, &mutex);
    pthread_mutex_unlock(&mutex);
    return argument;
}

int main(int count, char **arguments) {
    int number = count > 1 ? atoi(arguments[1]) : 1;
    pthread_t *threads = calloc((size_t)number, sizeof *threads);
    for (int i = 0; i < number; i++)
        if (pthread_create(&threads[i], NULL, waits, NULL) != 0) return 1;
    sleep(2);
    pthread_mutex_lock(&mutex);
    over = 1;
    pthread_cond_broadcast(&condition);
    pthread_mutex_unlock(&mutex);
    for (int i = 0; i < number; i++) pthread_join(threads[i], NULL);
    return 0;
}
