/* Preloaded into the viewer: ends it by abort(3) from within as soon as the file "abort" is there. */
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

static void *wait_for_file(void *nothing) {
    while (access("abort", F_OK) != 0) usleep(1000);
    abort();
    return nothing;
}

__attribute__((constructor)) static void begin(void) {
    pthread_t thread;
    unsetenv("LD_PRELOAD");
    pthread_create(&thread, NULL, wait_for_file, NULL);
}
