// Threads that wait for each other: `locks HOW`.
//
//   waits   each kind of wait in a function of its own, made long by another thread. Writes on
//           standard error, for each function, how many nanoseconds it measured itself
//   rules   what the functions must answer whoever looks on: errors, owners that are dead,
//           cancellation. Writes what they answered on standard output
//   free    many locks that nobody else wants
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

enum { TURNS = 5, WAIT_NS = 20 * 1000 * 1000, ERRNO = 77 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t barrier;
static sem_t semaphore;
static mtx_t mtx;
static cnd_t cnd;
// One step of the other thread's.
static sem_t begun;
static int is_set;

static long long now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000LL + now.tv_nsec;
}

static struct timespec in_a_minute(clockid_t clock) {
    struct timespec then;
    clock_gettime(clock, &then);
    then.tv_sec += 60;
    return then;
}

static void linger(void) {
    struct timespec time = {0, WAIT_NS};
    nanosleep(&time, NULL);
}

// The other thread: takes something, says so, and keeps it for a while.
static void *keep_mutex(void *nothing) {
    pthread_mutex_lock(&mutex);
    sem_post(&begun);
    linger();
    pthread_mutex_unlock(&mutex);
    return nothing;
}

static void *keep_rwlock(void *nothing) {
    pthread_rwlock_wrlock(&rwlock);
    sem_post(&begun);
    linger();
    pthread_rwlock_unlock(&rwlock);
    return nothing;
}

static void *keep_mtx(void *nothing) {
    mtx_lock(&mtx);
    sem_post(&begun);
    linger();
    mtx_unlock(&mtx);
    return nothing;
}

static void *set_condition(void *nothing) {
    sem_post(&begun);
    linger();
    pthread_mutex_lock(&mutex);
    is_set = 1;
    pthread_cond_signal(&condition);
    pthread_mutex_unlock(&mutex);
    return nothing;
}

static void *set_cnd(void *nothing) {
    sem_post(&begun);
    linger();
    mtx_lock(&mtx);
    is_set = 1;
    cnd_signal(&cnd);
    mtx_unlock(&mtx);
    return nothing;
}

static void *post(void *nothing) {
    sem_post(&begun);
    linger();
    sem_post(&semaphore);
    return nothing;
}

static void *come_late(void *nothing) {
    sem_post(&begun);
    linger();
    pthread_barrier_wait(&barrier);
    return nothing;
}

static void *end_late(void *nothing) {
    sem_post(&begun);
    linger();
    return nothing;
}

static void check(int result) {
    if (result != 0 || errno != ERRNO) abort();
}

// Measures one call: `sum` is a static of the function's.
#define MEASURED(call)                    \
    do {                                  \
        long long before = now_ns();      \
        check(call);                      \
        sum += now_ns() - before;         \
    } while (0)

#define WAIT(name, other, statements)                                      \
    __attribute__((noinline)) static void wait_##name(void) {              \
        static long long sum;                                              \
        for (int turn = 0; turn < TURNS; turn++) {                         \
            pthread_t thread;                                              \
            if (pthread_create(&thread, NULL, other, NULL)) abort();       \
            while (sem_trywait(&begun)) sched_yield();                     \
            errno = ERRNO;                                                 \
            statements;                                                    \
            while (pthread_tryjoin_np(thread, NULL) == EBUSY) usleep(100); \
        }                                                                  \
        fprintf(stderr, "wait_%s %lld\n", #name, sum);                     \
    }

static struct timespec then;
#define UNTIL(clock) (then = in_a_minute(clock), &then)

WAIT(mutex, keep_mutex, MEASURED(pthread_mutex_lock(&mutex)); pthread_mutex_unlock(&mutex))
WAIT(timed, keep_mutex, MEASURED(pthread_mutex_timedlock(&mutex, UNTIL(CLOCK_REALTIME)));
     pthread_mutex_unlock(&mutex))
WAIT(clock, keep_mutex,
     MEASURED(pthread_mutex_clocklock(&mutex, CLOCK_MONOTONIC, UNTIL(CLOCK_MONOTONIC)));
     pthread_mutex_unlock(&mutex))
WAIT(reader, keep_rwlock, MEASURED(pthread_rwlock_rdlock(&rwlock)); pthread_rwlock_unlock(&rwlock))
WAIT(writer, keep_rwlock, MEASURED(pthread_rwlock_wrlock(&rwlock)); pthread_rwlock_unlock(&rwlock))
WAIT(timed_reader, keep_rwlock,
     MEASURED(pthread_rwlock_timedrdlock(&rwlock, UNTIL(CLOCK_REALTIME)));
     pthread_rwlock_unlock(&rwlock))
WAIT(timed_writer, keep_rwlock,
     MEASURED(pthread_rwlock_timedwrlock(&rwlock, UNTIL(CLOCK_REALTIME)));
     pthread_rwlock_unlock(&rwlock))
WAIT(mtx, keep_mtx, MEASURED(mtx_lock(&mtx)); mtx_unlock(&mtx))
WAIT(condition, set_condition, pthread_mutex_lock(&mutex);
     while (!is_set) MEASURED(pthread_cond_wait(&condition, &mutex)); is_set = 0;
     pthread_mutex_unlock(&mutex))
WAIT(timed_condition, set_condition, pthread_mutex_lock(&mutex);
     while (!is_set) MEASURED(
         pthread_cond_timedwait(&condition, &mutex, UNTIL(CLOCK_REALTIME)));
     is_set = 0;
     pthread_mutex_unlock(&mutex))
WAIT(cnd, set_cnd, mtx_lock(&mtx); while (!is_set) MEASURED(cnd_wait(&cnd, &mtx)); is_set = 0;
     mtx_unlock(&mtx))
WAIT(semaphore, post, MEASURED(sem_wait(&semaphore)))
WAIT(timed_semaphore, post, MEASURED(sem_timedwait(&semaphore, UNTIL(CLOCK_REALTIME))))
WAIT(barrier, come_late, {
    long long before = now_ns();
    pthread_barrier_wait(&barrier);
    sum += now_ns() - before;
})

__attribute__((noinline)) static void wait_join(void) {
    long long sum = 0;
    for (int turn = 0; turn < TURNS; turn++) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, end_late, NULL)) abort();
        while (sem_trywait(&begun)) sched_yield();
        errno = ERRNO;
        MEASURED(pthread_join(thread, NULL));
    }
    fprintf(stderr, "wait_join %lld\n", sum);
}

static void waits(void) {
    wait_mutex(), wait_timed(), wait_clock(), wait_reader(), wait_writer();
    wait_timed_reader(), wait_timed_writer(), wait_mtx(), wait_condition();
    wait_timed_condition(), wait_cnd(), wait_semaphore(), wait_timed_semaphore();
    wait_barrier(), wait_join();
}

static void say(const char *what, int result) {
    printf("%s: %s\n", what, strerrorname_np(result));
    if (errno != ERRNO) printf("errno %d\n", errno), errno = ERRNO;
}

static pthread_mutex_t of_kind(int kind, int robustness, int protocol) {
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_settype(&attributes, kind);
    pthread_mutexattr_setrobust(&attributes, robustness);
    pthread_mutexattr_setprotocol(&attributes, protocol);
    pthread_mutex_t made;
    if (pthread_mutex_init(&made, &attributes)) abort();
    return made;
}

static void *die_with(void *lock) {
    pthread_mutex_lock(lock);
    return NULL;
}

static int cleaned;
static sem_t canceled;

static void clean(void *nothing) {
    (void)nothing;
    cleaned++;
    pthread_mutex_unlock(&mutex);
}

static void *wait_for_ever(void *nothing) {
    pthread_mutex_lock(&mutex);
    pthread_cleanup_push(clean, NULL);
    sem_post(&begun);
    for (;;) pthread_cond_wait(&condition, &mutex);
    pthread_cleanup_pop(1);
    return nothing;
}

static void *wait_without_end(void *nothing) {
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
    sem_post(&begun);
    sem_wait(&canceled);
    pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL);
    // Free, but a cancellation is pending.
    sem_wait(&semaphore);
    return nothing;
}

static void cancel(const char *what, void *(*start)(void *)) {
    pthread_t thread;
    void *result = NULL;
    if (sem_init(&canceled, 0, 0) || pthread_create(&thread, NULL, start, NULL)) abort();
    sem_wait(&begun);
    pthread_cancel(thread);
    sem_post(&canceled);
    pthread_join(thread, &result);
    printf("%s: %s\n", what, result == PTHREAD_CANCELED ? "canceled" : "ended");
}

static void rules(void) {
    pthread_mutex_t checked = of_kind(PTHREAD_MUTEX_ERRORCHECK, 0, PTHREAD_PRIO_NONE);
    pthread_mutex_t again = of_kind(PTHREAD_MUTEX_RECURSIVE, 0, PTHREAD_PRIO_NONE);
    pthread_mutex_t inheriting = of_kind(PTHREAD_MUTEX_ERRORCHECK, 0, PTHREAD_PRIO_INHERIT);
    struct timespec past = {1, 0}, wrong = {1, -1};
    errno = ERRNO;
    say("errorcheck", pthread_mutex_lock(&checked));
    say("errorcheck again", pthread_mutex_lock(&checked));
    say("errorcheck timed", pthread_mutex_timedlock(&checked, &past));
    say("recursive", pthread_mutex_lock(&again));
    say("recursive again", pthread_mutex_lock(&again));
    say("inheriting", pthread_mutex_lock(&inheriting));
    say("inheriting again", pthread_mutex_lock(&inheriting));
    say("timed, free", pthread_mutex_timedlock(&mutex, &wrong));
    say("timed, taken", pthread_mutex_timedlock(&mutex, &past));
    say("timed, wrong", pthread_mutex_timedlock(&mutex, &wrong));
    pthread_mutex_unlock(&mutex);
    say("writer", pthread_rwlock_wrlock(&rwlock));
    say("reader of own", pthread_rwlock_rdlock(&rwlock));
    say("writer of own", pthread_rwlock_wrlock(&rwlock));
    say("writer timed", pthread_rwlock_timedwrlock(&rwlock, &wrong));
    pthread_rwlock_unlock(&rwlock);
    for (int protocol = PTHREAD_PRIO_NONE; protocol <= PTHREAD_PRIO_INHERIT; protocol++) {
        pthread_mutex_t robust =
            of_kind(PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_ROBUST, protocol);
        for (int turn = 0; turn < 2; turn++) {
            pthread_t thread;
            if (pthread_create(&thread, NULL, die_with, &robust)) abort();
            pthread_join(thread, NULL);
            say("dead owner", pthread_mutex_lock(&robust));
            if (turn == 0) pthread_mutex_consistent(&robust);
            pthread_mutex_unlock(&robust);
        }
        say("not recoverable", pthread_mutex_lock(&robust));
    }
    mtx_t plain;
    mtx_init(&plain, mtx_recursive);
    printf("mtx: %d %d\n", mtx_lock(&plain), mtx_lock(&plain));
    printf("sem_timedwait: %d", sem_timedwait(&semaphore, &past));
    printf(" %s\n", strerrorname_np(errno));
    cancel("condition", wait_for_ever);
    printf("cleaned: %d, free: %d\n", cleaned, pthread_mutex_trylock(&mutex));
    sem_post(&semaphore);
    cancel("semaphore", wait_without_end);
    printf("posts left: %d\n", sem_trywait(&semaphore));
}

static void take_free_locks(void) {
    for (int turn = 0; turn < 1000000; turn++) {
        pthread_mutex_lock(&mutex);
        pthread_mutex_unlock(&mutex);
        pthread_rwlock_rdlock(&rwlock);
        pthread_rwlock_unlock(&rwlock);
        pthread_rwlock_wrlock(&rwlock);
        pthread_rwlock_unlock(&rwlock);
    }
}

int main(int argc, char **argv) {
    const char *how = argc > 1 ? argv[1] : "waits";
    if (mtx_init(&mtx, mtx_plain) || cnd_init(&cnd)) return 1;
    if (pthread_barrier_init(&barrier, NULL, 2)) return 2;
    if (!strcmp(how, "rules")) rules();
    if (!strcmp(how, "waits")) waits();
    if (!strcmp(how, "free")) take_free_locks();
    puts("done");
    return 3;
}
