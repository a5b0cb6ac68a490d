/* A program that uses SIGTRAP in every way there is, in processes of its own, each of which works a
 * while before and after so that samples are about. Says what it saw. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

extern char **environ;

static __thread volatile unsigned long sink;
__attribute__((noinline)) static void burn(unsigned long n) {
    unsigned long sum = 0;
    for (unsigned long i = 0; i < n; i++) sum += i ^ (sum >> 3);
    sink = sum;
}
static void work(void) { burn(3000000); }

static void set_of(sigset_t *set, int signal) {
    sigemptyset(set);
    sigaddset(set, signal);
}
static int is_pending(void) {
    sigset_t now;
    sigpending(&now);
    return sigismember(&now, SIGTRAP);
}
static int is_blocked(void) {
    sigset_t now;
    pthread_sigmask(SIG_SETMASK, NULL, &now);
    return sigismember(&now, SIGTRAP);
}
static void block(int how) {
    sigset_t set;
    set_of(&set, SIGTRAP);
    sigprocmask(how, &set, NULL);
}

/* Without a handler. */
static void breakpoint(void) { __asm__ volatile("int3"); }
static void raised(void) { raise(SIGTRAP); }
static void sent(void) { kill(getpid(), SIGTRAP); }
static void blocked(void) {
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    work();
    raise(SIGTRAP);
    work();
    printf("  blocked %d, pending %d\n", is_blocked(), is_pending());
    fflush(stdout);
    block(SIG_UNBLOCK);
    printf("  still there\n");
}
/* None is lost, whatever else comes by the signal. */
static void blocked_often(void) {
    int lost = 0;
    for (int i = 0; i < 400; i++) {
        pid_t child = fork();
        if (child == 0) {
            sigset_t all;
            sigfillset(&all);
            sigprocmask(SIG_SETMASK, &all, NULL);
            burn(200000 + (unsigned long)i * 911 % 50000);
            raise(SIGTRAP);
            block(SIG_UNBLOCK);
            _exit(0);
        }
        int status = 0;
        waitpid(child, &status, 0);
        lost += !WIFSIGNALED(status);
    }
    printf("  lost %d\n", lost);
}
static void sent_while_blocked(void) {
    block(SIG_BLOCK);
    work();
    kill(getpid(), SIGTRAP);
    work();
    printf("  blocked %d, pending %d\n", is_blocked(), is_pending());
    signal(SIGTRAP, SIG_IGN);
    printf("  blocked %d, pending %d\n", is_blocked(), is_pending());
    block(SIG_UNBLOCK);
    work();
}
static void blocked_breakpoint(void) {
    block(SIG_BLOCK);
    breakpoint();
}
static void ignored_breakpoint(void) {
    signal(SIGTRAP, SIG_IGN);
    raise(SIGTRAP);
    work();
    printf("  ignored\n");
    fflush(stdout);
    breakpoint();
}

/* With one. */
static volatile int got, code, on_stack, masked;
static char stack[1 << 16];
static void on_info(int signal, siginfo_t *info, void *context) {
    sigset_t now;
    char here;
    sigprocmask(SIG_BLOCK, NULL, &now);
    got += signal == SIGTRAP;
    code = info->si_code;
    on_stack = &here >= stack && &here < stack + sizeof stack;
    masked = sigismember(&now, SIGTRAP) * 100 + sigismember(&now, SIGUSR1) * 10 +
             sigismember(&now, SIGUSR2);
    (void)context;
}
static void on_number(int signal) { got += signal == SIGTRAP; }
static const char *name(void (*handler)(int)) {
    return handler == SIG_DFL ? "default" : handler == SIG_IGN ? "ignore"
         : handler == on_number ? "number" : handler == (void (*)(int))on_info ? "info" : "another";
}
static void handled(void) {
    struct sigaction action = {.sa_sigaction = on_info, .sa_flags = SA_SIGINFO | SA_ONSTACK}, old;
    sigaltstack(&(stack_t){.ss_sp = stack, .ss_size = sizeof stack}, NULL);
    sigaddset(&action.sa_mask, SIGUSR1);
    sigaction(SIGTRAP, NULL, &old);
    printf("  was %s, flags %x\n", name(old.sa_handler), (unsigned)old.sa_flags);
    sigaction(SIGTRAP, &action, &old);
    printf("  was %s, flags %x\n", name(old.sa_handler), (unsigned)old.sa_flags);
    work();
    raise(SIGTRAP);
    printf("  got %d, code %d, on stack %d, masked %d\n", got, code, on_stack, masked);
    breakpoint();
    printf("  got %d, code %d, on stack %d, masked %d\n", got, code, on_stack, masked);
    sigaction(SIGTRAP, NULL, &old);
    printf("  now %s, flags %x, usr1 %d\n", name(old.sa_handler),
           (unsigned)old.sa_flags & ~0x4000000U, sigismember(&old.sa_mask, SIGUSR1));
    printf("  signal: was %s\n", name(signal(SIGTRAP, on_number)));
    sigaction(SIGTRAP, NULL, &old);
    printf("  now %s, info %d, restart %d\n", name(old.sa_handler),
           !!(old.sa_flags & SA_SIGINFO), !!(old.sa_flags & SA_RESTART));
    block(SIG_BLOCK);
    raise(SIGTRAP);
    work();
    printf("  blocked %d, pending %d, got %d\n", is_blocked(), is_pending(), got);
    block(SIG_UNBLOCK);
    printf("  blocked %d, pending %d, got %d\n", is_blocked(), is_pending(), got);
    printf("  sigset: was %s\n", name(sigset(SIGTRAP, SIG_IGN)));
    printf("  signal: was %s\n", name(signal(SIGTRAP, SIG_DFL)));
    printf("  signal: was %s\n", name(signal(SIGTRAP, on_number)));
    action.sa_flags |= SA_RESETHAND;
    sigaction(SIGTRAP, &action, NULL);
    raise(SIGTRAP);
    sigaction(SIGTRAP, NULL, &old);
    printf("  got %d, now %s\n", got, name(old.sa_handler));
    work();
}

/* Waits for it, with everything blocked until then. */
static void awaited(void) {
    sigset_t all, trap;
    struct timespec second = {1, 0};
    siginfo_t info;
    int number = 0;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    work();
    set_of(&trap, SIGTRAP);
    kill(getpid(), SIGTRAP);
    sigwait(&trap, &number);
    printf("  sigwait %d, pending %d\n", number, is_pending());
    work();
    raise(SIGTRAP);
    number = sigtimedwait(&all, &info, &second);
    printf("  sigtimedwait %d, code %d\n", number, info.si_code);
    int fd = signalfd(-1, &trap, 0);
    struct signalfd_siginfo record = {0};
    raise(SIGTRAP);
    work();
    if (read(fd, &record, sizeof record) < 0) perror("signalfd");
    printf("  signalfd %u, code %d, blocked %d\n", record.ssi_signo, record.ssi_code, is_blocked());
}

/* Other threads work and wait while a handler is set: none of their samples may reach it. */
static volatile int stop;
static void *busy(void *unused) {
    while (!stop) {
        burn(20000);
        usleep(100);
    }
    return unused;
}
static void handler_beside_threads(void) {
    pthread_t threads[4];
    for (int i = 0; i < 4; i++) pthread_create(&threads[i], NULL, busy, NULL);
    usleep(5000);
    signal(SIGTRAP, on_number);
    for (int i = 0; i < 10; i++) work(), usleep(1000);
    printf("  got %d\n", got);
    stop = 1;
    for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
}

/* Programs that are started meanwhile live, and begin with the default action. */
static void children(void) {
    int bad = 0, status = 0;
    for (int i = 0; i < 40; i++) {
        pid_t child = 0;
        burn(100000);
        posix_spawn(&child, "/bin/true", NULL, NULL, (char *[]){"true", NULL}, environ);
        waitpid(child, &status, 0);
        bad += status != 0;
    }
    if ((status = system("kill -TRAP $$")) != 5 << 8 && status != 5 && status != 133 << 8) bad++;
    printf("  bad %d\n", bad);
    for (int i = 0; i < 20; i++) {
        if (fork() == 0) {
            work();
            execl("/bin/true", "true", (char *)NULL);
            _exit(1);
        }
        wait(&status);
        bad += status != 0;
    }
    printf("  bad %d\n", bad);
}

/* A signal without SA_RESTART ends a read, one with it does not. A sample that is due at the same
 * moment changes nothing. The handler sees where the read is: at its instruction, it is made again. */
static volatile int ended, again;
static int pipes[2];
static void on_alarm(int signal, siginfo_t *info, void *context) {
    greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;
    const unsigned char *next = (const unsigned char *)registers[REG_RIP];
    again += next[0] == 0x0f && next[1] == 0x05;
    ended += next[-2] == 0x0f && next[-1] == 0x05 && registers[REG_RAX] == -EINTR;
    if (write(pipes[1], "x", 1) < 0) perror("write");
    (void)signal, (void)info;
}
static void interrupted(void) {
    char byte;
    if (pipe(pipes) < 0) return;
    for (int restart = 0; restart < 2; restart++) {
        struct sigaction action = {.sa_sigaction = on_alarm,
                                   .sa_flags = SA_SIGINFO | (restart ? SA_RESTART : 0)};
        sigaction(SIGALRM, &action, NULL);
        again = ended = 0;
        for (int i = 0; i < 1000; i++) {
            burn(2000 + (unsigned long)i * 997 % 20011);
            struct itimerval soon = {{0, 0}, {0, 300}};
            setitimer(ITIMER_REAL, &soon, NULL);
            while (read(pipes[0], &byte, 1) < 0) {}
        }
        /* On a busy machine the alarm may be there before the read; and a sample by elapsed time has a
         * microsecond in which the read is about to be made again. */
        printf("  restart %d: %s\n", restart,
               (restart ? ended : again) < 20 ? "as asked" : restart ? "ended" : "made again");
    }
}

static const struct { const char *name; void (*run)(void); } parts[] = {
    {"breakpoint", breakpoint}, {"raised", raised}, {"sent", sent}, {"blocked", blocked},
    {"blocked often", blocked_often}, {"sent while blocked", sent_while_blocked}, {"blocked breakpoint", blocked_breakpoint},
    {"ignored breakpoint", ignored_breakpoint}, {"handled", handled}, {"awaited", awaited},
    {"handler beside threads", handler_beside_threads}, {"children", children},
    {"interrupted", interrupted},
};

int main(void) {
    for (unsigned i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        int status = 0;
        printf("%s:\n", parts[i].name);
        fflush(stdout);
        pid_t child = fork();
        if (child == 0) {
            work();
            parts[i].run();
            work();
            fflush(stdout);
            _exit(0);
        }
        waitpid(child, &status, 0);
        if (WIFSIGNALED(status)) printf("  killed by signal %d\n", WTERMSIG(status));
        else if (status) printf("  status %d\n", WEXITSTATUS(status));
    }
    return 0;
}
