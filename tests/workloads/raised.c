/* Sends itself SIGPROF, and says how often the handler did not run. */
#include <signal.h>
#include <stdio.h>

static volatile sig_atomic_t came;
static void count(int signal) { came += signal == SIGPROF; }

int main(void) {
    int lost = 0;
    signal(SIGPROF, count);
    for (int i = 0; i < 100000; i++) {
        came = 0;
        raise(SIGPROF);
        lost += came != 1;
    }
    printf("lost %d\n", lost);
    return 0;
}
