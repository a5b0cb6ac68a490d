/* Calls functions by their first names, in front of which a library stands (second_names_library.c). */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/select.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile sig_atomic_t times;
static void count(int signal) { times += signal != 0; }

static volatile sig_atomic_t is_alarmed;
static void alarm_handler(int signal) { is_alarmed = signal != 0; }

static volatile unsigned long sink;
static void burn(void) {
    for (unsigned long i = 0; i < 30000000; i++) sink = i;
}

int main(void) {
    static char stack[1 << 16];
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
    struct timeval time = {0, 1000};
    struct sigaction action = {.sa_handler = count, .sa_flags = SA_ONSTACK}, before;
    burn();
    printf("poll %d", poll(NULL, 0, 1));
    printf(", calls %d\n", *(int *)dlsym(RTLD_DEFAULT, "polls"));
    printf("select %d", select(0, NULL, NULL, NULL, &time));
    printf(", calls %d\n", *(int *)dlsym(RTLD_DEFAULT, "selects"));
    printf("ppoll %d\n", ppoll(NULL, 0, &(struct timespec){0, 1000000}, NULL));
    signal(SIGALRM, alarm_handler);
    /* The first one may come before pause; the next one does not. */
    setitimer(ITIMER_REAL, &(struct itimerval){{0, 20000}, {0, 20000}}, NULL);
    int paused = pause();
    setitimer(ITIMER_REAL, &(struct itimerval){{0, 0}, {0, 0}}, NULL);
    printf("pause %d, alarmed %d, calls %d\n", paused, (int)is_alarmed, *(int *)dlsym(RTLD_DEFAULT, "pauses"));
    printf("locks %d %d", pthread_mutex_lock(&mutex), pthread_rwlock_rdlock(&lock));
    pthread_rwlock_unlock(&lock);
    printf(" %d\n", pthread_rwlock_wrlock(&lock));
    printf("yield %d\n", sched_yield());
    sigaltstack(&(stack_t){.ss_sp = stack, .ss_size = sizeof stack}, NULL);
    sigaddset(&action.sa_mask, SIGPROF);
    sigaction(SIGUSR1, &action, NULL);
    sigaction(SIGUSR1, NULL, &before);
    printf("sigaction %d %d\n", before.sa_handler == count, sigismember(&before.sa_mask, SIGPROF));
    action.sa_handler = SIG_DFL;
    sigaction(SIGUSR2, &action, NULL);
    printf("signal %d\n", signal(SIGUSR2, count) == SIG_DFL);
    sigaction(SIGPROF, &before, NULL);
    raise(SIGUSR1), raise(SIGUSR2), raise(SIGPROF);
    printf("came %d\n", (int)times);
    pid_t child = vfork();
    if (child == 0) _exit(3);
    int status;
    waitpid(child, &status, 0);
    printf("vfork %d\n", WEXITSTATUS(status));
    burn();
    return 0;
}
