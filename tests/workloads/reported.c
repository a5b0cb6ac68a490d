/* Has two faults, of which ThreadSanitizer tells: two threads take two locks in different orders,
 * one after the other, so that no deadlock comes of it; and a thread and main() write a number. */
#include <pthread.h>
#include <stdio.h>

static pthread_mutex_t first = PTHREAD_MUTEX_INITIALIZER, second = PTHREAD_MUTEX_INITIALIZER;
static int shared;

static void *first_then_second(void *unused) {
    pthread_mutex_lock(&first);
    pthread_mutex_lock(&second);
    pthread_mutex_unlock(&second);
    pthread_mutex_unlock(&first);
    return unused;
}

static void *second_then_first(void *unused) {
    pthread_mutex_lock(&second);
    pthread_mutex_lock(&first);
    pthread_mutex_unlock(&first);
    pthread_mutex_unlock(&second);
    return unused;
}

static void *writes(void *unused) {
    shared++;
    return unused;
}

static void run(void *(*work)(void *)) {
    pthread_t thread;
    pthread_create(&thread, NULL, work, NULL);
    if (work == writes) shared++;
    pthread_join(thread, NULL);
}

int main(void) {
    run(first_then_second);
    run(second_then_first);
    run(writes);
    puts("end");
    return 0;
}
