/* Handlers that interrupt waits, and what they find: whether SIGPROF is blocked in them, in what they start,
 * and after them; and SIGPROF's own handler, which waits, and leaves. */
#define _GNU_SOURCE
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* linux/signal.h: while a handler runs there, it is no alternate stack. */
#define AUTODISARM (1 << 31)

extern char **environ;
static volatile sig_atomic_t came, deepest, depth, open_there;

static int is_blocked(void) {
    sigset_t now;
    pthread_sigmask(SIG_BLOCK, NULL, &now);
    return sigismember(&now, SIGPROF);
}
static void rest(long us) { nanosleep(&(struct timespec){us / 1000000, us % 1000000 * 1000}, NULL); }

/* What is so after a handler. */
static void say(const char *what) {
    came = 0;
    int blocked = is_blocked();
    raise(SIGPROF);
    printf("%s: blocked %d, came %d\n", what, blocked, (int)came);
    fflush(stdout);
}
static void count(int signal) { came += signal == SIGPROF; }

/* Waits in a wait of both kinds, until a signal comes a little later. */
static void wait_for(void (*handler)(int), int flags) {
    for (int kind = 0; kind < 2; kind++) {
        struct sigaction action = {.sa_handler = handler, .sa_flags = flags};
        sigaction(SIGALRM, &action, NULL);
        setitimer(ITIMER_REAL, &(struct itimerval){{0, 0}, {0, 20000}}, NULL);
        if (kind) poll(NULL, 0, 2000);
        else usleep(900000);
    }
}

static void saves(int signal) {
    sigset_t one, before;
    sigemptyset(&one);
    sigaddset(&one, SIGUSR1);
    sigprocmask(SIG_BLOCK, &one, &before);
    usleep(signal ? 1000 : 0);
    sigprocmask(SIG_SETMASK, &before, NULL);
}
static void blocks(int signal) {
    sigset_t one;
    sigemptyset(&one);
    sigaddset(&one, SIGPROF);
    sigprocmask(SIG_BLOCK, &one, NULL);
    came = 0;
    raise(SIGPROF);
    if (!is_blocked() || came) printf("open after it was blocked in the handler of %d\n", signal);
}
static void fills(int signal) {
    sigset_t all, before;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &before);
    if (!is_blocked() || sigismember(&before, SIGPROF)) printf("wrong in the handler of %d\n", signal);
}
static void restores(int signal) {
    sigset_t all, before;
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, &before);
    if (signal == SIGUSR1) sigprocmask(SIG_SETMASK, &before, NULL);
}
static void raises(int signal) {
    came = 0;
    raise(SIGPROF);
    if (!came) printf("later than raise in the handler of %d\n", signal);
}

static char path[4096];
static void *thread(void *nothing) {
    printf(" %d", is_blocked());
    return nothing;
}
/* Programs and a thread, which say whether SIGPROF is blocked in them. */
static void starts(int signal) {
    char *words[] = {path, "ask", NULL}, command[5000], said[20] = "";
    pid_t pid;
    pthread_t id;
    printf("%d", is_blocked() + (signal != SIGALRM));
    fflush(stdout);
    if (posix_spawn(&pid, path, NULL, NULL, words, environ) == 0) waitpid(pid, NULL, 0);
    snprintf(command, sizeof command, "exec %s ask", path);
    system(command);
    FILE *stream = popen(command, "r");
    if (fgets(said, sizeof said, stream)) printf("%s", said);
    pclose(stream);
    if ((pid = fork()) == 0) execv(path, words), _exit(1);
    waitpid(pid, NULL, 0);
    if (pthread_create(&id, NULL, thread, NULL) == 0) pthread_join(id, NULL);
    printf("\n");
    fflush(stdout);
}

/* Waits in SIGPROF's handler, after another handler in it, while that signal comes again. */
static void waits(int signal) {
    if (++depth > deepest) deepest = depth;
    raise(SIGUSR1);
    if (came++ % 4 == 3) poll(NULL, 0, 3);
    else rest(3000);
    open_there += !is_blocked() || signal != SIGPROF;
    depth--;
}
static void send_often(int kind) {
    pid_t parent = getpid(), child = fork();
    if (child == 0) {
        rest(10000);
        for (int i = 0; i < 60; i++) kill(parent, SIGPROF), rest(1000);
        _exit(0);
    }
    while (waitpid(child, NULL, WNOHANG) == 0)
        if (kind) poll(NULL, 0, 30);
        else usleep(30000);
    printf("deepest %d, open %d\n", (int)deepest, (int)open_there);
    fflush(stdout);
}

static jmp_buf back;
static void leaves(int signal) { _longjmp(back, signal); }
static void leave(int kind) {
    sigset_t one;
    signal(SIGPROF, leaves);
    /* Whether there is somewhere to jump to. */
    volatile int *armed = mmap(NULL, sizeof *armed, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (armed == MAP_FAILED) return;
    pid_t parent = getpid(), child = fork();
    if (child == 0) {
        while (!*armed && getppid() == parent) rest(1000);
        rest(20000);
        kill(parent, SIGPROF);
        _exit(0);
    }
    if (_setjmp(back) == 0) {
        *armed = 1;
        for (int i = 0; i < 400; i++)
            if (kind) poll(NULL, 0, 5);
            else usleep(5000);
    } else printf("left: blocked %d\n", is_blocked());
    sigemptyset(&one);
    sigaddset(&one, SIGPROF);
    sigprocmask(SIG_UNBLOCK, &one, NULL);
    printf("opened: blocked %d\n", is_blocked());
    fflush(stdout);
    waitpid(child, NULL, 0);
}

/* One wait goes on while two handlers come, the second of which ends it. */
static int ends[2];
static volatile sig_atomic_t turn, seen;
static void wait_on(void (*handler)(int), int flags) {
    char byte;
    struct sigaction action = {.sa_handler = handler, .sa_flags = flags | SA_RESTART};
    turn = seen = 0;
    sigaction(SIGALRM, &action, NULL);
    socketpair(AF_UNIX, SOCK_STREAM, 0, ends);
    setitimer(ITIMER_REAL, &(struct itimerval){{0, 20000}, {0, 20000}}, NULL);
    long received = recv(ends[0], &byte, 1, 0);
    setitimer(ITIMER_REAL, &(struct itimerval){{0, 0}, {0, 0}}, NULL);
    printf("received %ld, seen blocked %d\n", received, (int)seen);
}
/* Blocks in the first, and asks in the second. */
static void blocks_and_asks(int signal) {
    if (turn++ == 0) blocks(signal);
    else seen += is_blocked(), send(ends[1], "", 1, 0);
}
/* Asks in both, and jumps within itself. */
static jmp_buf within;
static void asks_and_jumps(int signal) {
    seen += is_blocked() + (signal != SIGALRM);
    if (_setjmp(within) == 0) _longjmp(within, 1);
    if (turn++) send(ends[1], "", 1, 0);
}
/* On an alternate stack that is a part of the thread's own, further out than the wait. */
static void on_alternate(int flags) {
    char room[65536];
    sigaltstack(&(stack_t){.ss_sp = room, .ss_flags = flags, .ss_size = sizeof room}, NULL);
    wait_on(asks_and_jumps, SA_ONSTACK);
    sigaltstack(&(stack_t){.ss_flags = SS_DISABLE}, NULL);
}

static volatile unsigned long sink;
static void work(void) {
    for (unsigned long i = 0; i < 40000000; i++) sink = i;
}

int main(int number, char **words) {
    if (number > 1) return printf(" %d", is_blocked()) < 0;
    if (readlink("/proc/self/exe", path, sizeof path - 1) < 0) return 1;
    (void)words;
    work();
    signal(SIGUSR1, restores);
    signal(SIGPROF, waits);
    send_often(0);
    send_often(1);
    signal(SIGPROF, count);
    wait_for(saves, 0);
    say("saved and restored");
    wait_for(blocks, 0);
    say("blocked in a handler");
    wait_for(fills, SA_RESTART);
    say("all blocked in a handler");
    wait_for(raises, 0);
    say("raised in a handler");
    wait_on(blocks_and_asks, 0);
    on_alternate(0);
    wait_for(starts, 0);
    leave(0);
    leave(1);
    on_alternate(AUTODISARM);
    signal(SIGPROF, count);
    say("at last");
    work();
    return 0;
}
