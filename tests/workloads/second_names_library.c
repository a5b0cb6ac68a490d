/* A library in front of the C library, which it calls by second names. It has functions that wait with a mask,
 * too, which wait by those that have none. */
#define _GNU_SOURCE
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/select.h>

#define BY(second, type, first, parameters, arguments) \
    extern type second parameters;                     \
    type first parameters {                            \
        return second arguments;                       \
    }

int polls, selects;
BY(__poll, int, poll, (struct pollfd *files, nfds_t number, int limit), (files, number + 0 * ++polls, limit))
BY(__select, int, select, (int number, fd_set *in, fd_set *out, fd_set *other, struct timeval *limit),
   (number + 0 * ++selects, in, out, other, limit))
BY(__pthread_mutex_lock, int, pthread_mutex_lock, (pthread_mutex_t *mutex), (mutex))
BY(__pthread_rwlock_rdlock, int, pthread_rwlock_rdlock, (pthread_rwlock_t *lock), (lock))
BY(__pthread_rwlock_wrlock, int, pthread_rwlock_wrlock, (pthread_rwlock_t *lock), (lock))
BY(__sched_yield, int, sched_yield, (void), ())
BY(gsignal, int, raise, (int number), (number))
BY(ssignal, __sighandler_t, signal, (int number, __sighandler_t handler), (number, handler))
BY(__sigaction, int, sigaction, (int number, const struct sigaction *new, struct sigaction *old), (number, new, old))
int ppoll(struct pollfd *files, nfds_t number, const struct timespec *limit, const sigset_t *mask) {
    return __poll(files, number, limit ? (int)(limit->tv_sec * 1000 + limit->tv_nsec / 1000000) : -1);
}
int pselect(int number, fd_set *in, fd_set *out, fd_set *other, const struct timespec *limit, const sigset_t *mask) {
    struct timeval time = {limit->tv_sec, limit->tv_nsec / 1000};
    return __select(number, in, out, other, &time);
}
