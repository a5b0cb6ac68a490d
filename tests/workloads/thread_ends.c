/* Threads that end in every way there is: by return, pthread_exit, cancellation at each waiting
 * call, and asynchronous cancellation in a loop. Each runs its cleanup and its destructor. */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <threads.h>
#include <unistd.h>

static pthread_key_t key;
static int cleaned, destroyed;
static sem_t ready, gone;

static volatile unsigned long sink;
__attribute__((noinline)) static void burn(unsigned long n) {
    unsigned long sum = 0;
    for (unsigned long i = 0; i < n; i++) sum += i ^ (sum >> 3);
    sink = sum;
}

static void count(void *counter) { __atomic_add_fetch((int *)counter, 1, __ATOMIC_SEQ_CST); }
static void destroy(void *counter) {
    burn(1000000);
    count(counter);
    sem_post(&gone);
}

__attribute__((noinline)) static int deep(int frames, void (*then)(void)) {
    burn(200000);
    if (frames > 0) {
        int below = deep(frames - 1, then);
        burn(1000);
        return below + 1;
    }
    then();
    return 0;
}

static sigset_t empty;
static void wait_sigsuspend(void) { sigsuspend(&empty); }
static void wait_pause(void) { pause(); }
static void wait_ppoll(void) { ppoll(NULL, 0, NULL, &empty); }
static void wait_pselect(void) { pselect(0, NULL, NULL, NULL, NULL, &empty); }
static void wait_epoll(void) {
    struct epoll_event event;
    epoll_pwait(epoll_create1(0), &event, 1, -1, &empty);
}
static void wait_sigwait(void) {
    sigset_t set;
    int got;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR2);
    sigaddset(&set, SIGPROF);
    sigwait(&set, &got);
}
static void wait_sigwaitinfo(void) {
    sigset_t set;
    siginfo_t info;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR2);
    while (sigwaitinfo(&set, &info) < 0 && errno == EINTR) {}
}
static void wait_sigtimedwait(void) {
    sigset_t set;
    struct timespec hour = {3600, 0};
    sigemptyset(&set);
    sigaddset(&set, SIGUSR2);
    while (sigtimedwait(&set, NULL, &hour) < 0 && errno == EINTR) {}
}
static void wait_sleep(void) { sleep(3600); }
static void wait_recv(void) {
    int sockets[2];
    char byte;
    socketpair(AF_UNIX, SOCK_STREAM, 0, sockets);
    recv(sockets[0], &byte, 1, 0);
}
static void wait_semaphore(void) {
    struct timespec never = {1LL << 40, 0};
    sem_t none;
    sem_init(&none, 0, 0);
    while (sem_timedwait(&none, &never) < 0 && errno == EINTR) {}
}
static void leave(void) { pthread_exit("left"); }
static void spin(void) {
    pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
    sem_post(&ready);
    for (;;) burn(1000);
}
static void nothing(void) {}

static void *body(void *then) {
    pthread_setspecific(key, &destroyed);
    pthread_cleanup_push(count, &cleaned);
    if (then != (void *)spin) sem_post(&ready);
    deep(15, (void (*)(void))then);
    pthread_cleanup_pop(1);
    return "returned";
}

static void end(const char *what, void (*then)(void), int cancel) {
    pthread_t thread;
    void *result;
    pthread_create(&thread, NULL, body, (void *)then);
    sem_wait(&ready);
    if (cancel) pthread_cancel(thread);
    pthread_join(thread, &result);
    sem_wait(&gone);
    printf("%s: %s, cleaned %d, destroyed %d\n", what,
           result == PTHREAD_CANCELED ? "canceled" : (char *)result, cleaned, destroyed);
}

static int c11_body(void *unused) {
    (void)unused;
    deep(15, nothing);
    thrd_exit(23);
}

int main(void) {
    sem_init(&ready, 0, 0);
    sem_init(&gone, 0, 0);
    sigemptyset(&empty);
    /* SIGUSR2 is blocked, so that waiting for it is what the manual asks for. */
    sigset_t usr2;
    sigemptyset(&usr2);
    sigaddset(&usr2, SIGUSR2);
    pthread_sigmask(SIG_BLOCK, &usr2, NULL);
    pthread_key_create(&key, destroy);

    end("return", nothing, 0);
    end("pthread_exit", leave, 0);
    end("sigsuspend", wait_sigsuspend, 1);
    end("pause", wait_pause, 1);
    end("ppoll", wait_ppoll, 1);
    end("pselect", wait_pselect, 1);
    end("epoll_pwait", wait_epoll, 1);
    end("sigwait", wait_sigwait, 1);
    end("sigwaitinfo", wait_sigwaitinfo, 1);
    end("sigtimedwait", wait_sigtimedwait, 1);
    end("sleep", wait_sleep, 1);
    end("recv", wait_recv, 1);
    end("sem_timedwait", wait_semaphore, 1);
    end("asynchronous", spin, 1);

    thrd_t c11;
    int result;
    thrd_create(&c11, c11_body, NULL);
    thrd_join(c11, &result);
    printf("thrd_exit: %d\n", result);

    /* Detached threads, many at a time. */
    pthread_attr_t detached;
    pthread_attr_init(&detached);
    pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
    for (int i = 0; i < 20; i++) {
        pthread_t thread;
        pthread_create(&thread, &detached, body, (void *)nothing);
    }
    for (int i = 0; i < 20; i++) sem_wait(&gone);
    printf("detached: cleaned %d, destroyed %d\n", cleaned, destroyed);
    pthread_exit(NULL);
}
