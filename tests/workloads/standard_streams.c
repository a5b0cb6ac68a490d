/*
 * Says on file 3 which of the standard streams are open, works, and says which numbers the next
 * files get.
 */
#include <fcntl.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

static void work(void) {
    struct timespec now;
    do clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    while (now.tv_sec == 0 && now.tv_nsec < 200000000);
}

int main(void) {
    for (int number = 0; number < 3; number++)
        dprintf(3, "%d: %s\n", number, fcntl(number, F_GETFD) < 0 ? "closed" : "open");
    work();
    for (int i = 0; i < 3; i++) dprintf(3, "next: %d\n", open("/dev/null", O_RDWR));
    return 7;
}
