// A handler leaves each kind of wait by an exception, and one by a jump that no function of the C library makes. Then
// SIGPROF comes when it is sent, as it did before; after that jump, once the thread has waited again.
#include <csignal>
#include <cstdio>
#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

static volatile sig_atomic_t came;
static void count(int) { came++; }
static void leaves(int) { throw 1; }

static void *back[5];
static void jumps(int) { __builtin_longjmp(back, 1); }

// From within what a handler may leave, however late that goes on.
[[gnu::noinline]] static void ask_for_alarm() {
    itimerval soon = {{0, 0}, {0, 20000}};
    setitimer(ITIMER_REAL, &soon, nullptr);
}
[[gnu::noinline]] static void by_usleep() {
    ask_for_alarm();
    usleep(3600000000u);
}
[[gnu::noinline]] static void by_recv() {
    int sockets[2];
    char byte;
    ask_for_alarm();
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) == 0) recv(sockets[0], &byte, 1, 0);
}
[[gnu::noinline]] static void by_poll() {
    ask_for_alarm();
    poll(nullptr, 0, 3600000);
}

static volatile unsigned long sink;
static void work() {
    for (unsigned long i = 0; i < 20000000; i++) sink = i;
}

int main() {
    void (*const waits[])() = {by_usleep, by_recv, by_poll};
    struct sigaction action = {};
    action.sa_handler = leaves;
    action.sa_flags = SA_NODEFER;
    sigaction(SIGALRM, &action, nullptr);
    signal(SIGPROF, count);
    int left = 0;
    for (auto wait : waits) {
        try {
            wait();
        } catch (int) {
            left++;
        }
        kill(getpid(), SIGPROF);
        work();
    }
    action.sa_handler = jumps;
    sigaction(SIGALRM, &action, nullptr);
    if (__builtin_setjmp(back) == 0) by_usleep();
    poll(nullptr, 0, 1);
    kill(getpid(), SIGPROF);
    work();
    printf("left %d, came %d\n", left, (int)came);
    return 0;
}
