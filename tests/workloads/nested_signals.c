/* Handlers that are interrupted by other handlers, five deep and recursively, each burning CPU; under
 * a fast timer whose handler does the same. Who was interrupted by whom is known. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <sys/time.h>

static volatile unsigned long sink;
__attribute__((noinline)) static void burn(unsigned long n) {
    unsigned long sum = 0;
    for (unsigned long i = 0; i < n; i++) sum += i ^ (sum >> 3);
    sink = sum;
}

static const int chain[] = {SIGUSR1, SIGUSR2, SIGHUP, SIGTERM, SIGINT};
enum { CHAIN = sizeof chain / sizeof chain[0] };
static volatile sig_atomic_t handled[CHAIN], depth, deepest, again, ticked;

static void next(int signal) {
    int place = 0;
    while (chain[place] != signal) place++;
    handled[place]++;
    if (++depth > deepest) deepest = depth;
    burn(3000);
    if (place + 1 < CHAIN) raise(chain[place + 1]);
    burn(3000);
    depth--;
}

static void itself(int signal) {
    burn(3000);
    if (++again % 4 != 0) raise(signal);
    burn(3000);
}

static void tick(int signal) {
    (void)signal;
    burn(1000);
    ticked = 1;
}

int main(void) {
    struct sigaction action = {.sa_handler = next};
    for (int i = 0; i < CHAIN; i++) sigaction(chain[i], &action, NULL);
    action.sa_handler = itself;
    action.sa_flags = SA_NODEFER;
    sigaction(SIGCONT, &action, NULL);
    action.sa_handler = tick;
    action.sa_flags = SA_RESTART;
    sigaction(SIGALRM, &action, NULL);
    sigaction(SIGVTALRM, &action, NULL);
    struct itimerval often = {{0, 500}, {0, 500}}, never = {{0, 0}, {0, 0}};
    setitimer(ITIMER_REAL, &often, NULL);
    setitimer(ITIMER_VIRTUAL, &often, NULL);
    for (int round = 0; round < 3000; round++) {
        raise(SIGUSR1);
        raise(SIGCONT);
    }
    setitimer(ITIMER_REAL, &never, NULL);
    setitimer(ITIMER_VIRTUAL, &never, NULL);
    printf("deepest %d, again %d, ticked %d, handled", (int)deepest, (int)again, (int)ticked);
    for (int i = 0; i < CHAIN; i++) printf(" %d", (int)handled[i]);
    printf("\n");
    return 0;
}
