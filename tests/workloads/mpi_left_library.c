/* What stands for an MPI library: MPI_Barrier fails, and calls the program's handler of errors, which need not come back. */
#include <time.h>

void (*handler)(void);
int MPI_Init(int *count, char ***words) { return 0; }
int MPI_Barrier(void *group) {
    handler();
    return 1;
}
int MPI_Wait(void *request, void *status) {
    return nanosleep(&(struct timespec){0, 3000000}, 0);
}
