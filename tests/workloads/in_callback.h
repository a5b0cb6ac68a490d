// A thread that stays in a callback of dl_iterate_phdr(3).
#include <link.h>
#include <pthread.h>
#include <unistd.h>

static volatile int inside;

static int stay(struct dl_phdr_info *info, size_t size, void *data) {
    (void)info, (void)size, (void)data;
    inside = 1;
    for (;;) pause();
}

static void *visit(void *argument) {
    dl_iterate_phdr(stay, NULL);
    return argument;
}

// Starts the thread; it is in the callback from then on.
static void begin_visit(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, visit, NULL);
    while (!inside) usleep(1000);
}
