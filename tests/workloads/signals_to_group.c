/*
 * Sends its process group a signal (kill(2), process 0), which it has a handler for, and counts how
 * often that is called. Whoever has started it is in the group, too.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static volatile sig_atomic_t got;

static void on_signal(int number) {
    (void)number;
    got++;
}

int main(int count, char **words) {
    (void)count;
    signal(atoi(words[1]), on_signal);
    kill(0, atoi(words[1]));
    /* Long enough for whoever passes it on. A signal ends one wait. */
    for (int i = 0; i < 3; i++) {
        struct timespec wait = {0, 100000000};
        nanosleep(&wait, NULL);
    }
    printf("%d\n", (int)got);
    return 7;
}
