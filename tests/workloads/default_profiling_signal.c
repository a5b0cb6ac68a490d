/* SIGPROF without a handler ends the program, wherever it comes from; unless it is blocked or ignored.
 * Before, the program and its children ask what the signals of samples do. */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void burn(long milliseconds) {
    struct timespec now, end;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &end);
    end.tv_nsec += milliseconds * 1000000;
    end.tv_sec += end.tv_nsec / 1000000000;
    end.tv_nsec %= 1000000000;
    do
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    while (now.tv_sec < end.tv_sec || (now.tv_sec == end.tv_sec && now.tv_nsec < end.tv_nsec));
}

static void *raise_there(void *argument) {
    raise(SIGPROF);
    return argument;
}

static void timer(clockid_t clock, void *value) {
    struct sigevent event;
    struct itimerspec soon = {{0, 0}, {0, 5000000}};
    timer_t timer;
    memset(&event, 0, sizeof event);
    event.sigev_notify = SIGEV_SIGNAL;
    event.sigev_signo = SIGPROF;
    event.sigev_value.sival_ptr = value;
    timer_create(clock, &event, &timer);
    timer_settime(timer, 0, &soon, NULL);
}

static const char *child(int kind) {
    struct itimerval soon = {{0, 0}, {0, 5000}};
    union sigval value = {.sival_int = 5};
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGPROF);
    pthread_t thread;
    burn(12);
    switch (kind) {
    case 0: raise(SIGPROF); return "raise";
    case 1: kill(getpid(), SIGPROF); return "kill";
    case 2: sigqueue(getpid(), SIGPROF, value); return "sigqueue";
    case 3: setitimer(ITIMER_PROF, &soon, NULL); burn(5000); return "setitimer";
    case 4: timer(CLOCK_MONOTONIC, NULL); burn(5000); return "timer";
    case 5: timer(CLOCK_PROCESS_CPUTIME_ID, &set); burn(5000); return "timer of CPU time";
    case 6: pthread_create(&thread, NULL, raise_there, NULL); pthread_join(thread, NULL); return "in a thread";
    case 7:
        if (fork() == 0) {
            kill(getppid(), SIGPROF);
            _exit(0);
        }
        burn(5000);
        return "from a child";
    case 8:
        sigprocmask(SIG_BLOCK, &set, NULL);
        raise(SIGPROF);
        burn(12);
        sigprocmask(SIG_UNBLOCK, &set, NULL);
        return "unblocked";
    case 9:
        sigprocmask(SIG_BLOCK, &set, NULL);
        raise(SIGPROF);
        burn(12);
        _exit(21);
    case 10:
        signal(SIGPROF, SIG_IGN);
        raise(SIGPROF);
        burn(12);
        _exit(22);
    default:
        /* The real thing: nothing but samples. */
        burn(60);
        _exit(23);
    }
}

static void nothing(int signal) { (void)signal; }

/* Whether an action of the process is another than the default one, without flags but SA_RESTORER; or
 * that of SIGUSR1 has another mask than it was given. */
static int is_changed(void) {
    struct sigaction of_profile, of_trap, of_user;
    sigaction(SIGPROF, NULL, &of_profile);
    sigaction(SIGTRAP, NULL, &of_trap);
    sigaction(SIGUSR1, NULL, &of_user);
    if (!sigismember(&of_user.sa_mask, SIGPROF)) return 1;
    return of_profile.sa_handler != SIG_DFL || (of_profile.sa_flags & ~0x4000000) != 0
        || of_trap.sa_handler != SIG_DFL || (of_trap.sa_flags & ~0x4000000) != 0;
}

int main(void) {
    struct sigaction action = {.sa_handler = nothing};
    sigaddset(&action.sa_mask, SIGPROF);
    sigaction(SIGUSR1, &action, NULL);
    int here = is_changed(), status;
    pid_t pid = vfork();
    if (pid == 0) _exit(is_changed());
    waitpid(pid, &status, 0);
    pid_t raw = (pid_t)syscall(SYS_fork);
    if (raw == 0) _exit(is_changed());
    int of_raw;
    waitpid(raw, &of_raw, 0);
    printf("changed: %d, by vfork %d, by hand %d\n", here, status, of_raw);
    fflush(stdout);
    for (int kind = 0; kind < 12; kind++) {
        pid_t pid = fork();
        if (pid == 0) {
            printf("lived: %s\n", child(kind));
            fflush(stdout);
            _exit(1);
        }
        int status;
        waitpid(pid, &status, 0);
        printf("%d: %s %d\n", kind, WIFSIGNALED(status) ? "signal" : "status",
               WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
        fflush(stdout);
    }
    return 0;
}
