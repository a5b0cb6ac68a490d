/* Ranks that work for a while, and then all end well, or rank 1 ends the job in the way that the argument
 * names, while the others still work. */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static volatile unsigned long sink;

__attribute__((noinline)) static void work(int milliseconds) {
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    long long begin = now.tv_sec * 1000LL + now.tv_nsec / 1000000, end = begin + milliseconds;
    while (now.tv_sec * 1000LL + now.tv_nsec / 1000000 < end) {
        for (int i = 0; i < 100000; i++) sink += i;
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    }
}

int main(int argc, char **argv) {
    int rank;
    const char *how = argc > 1 ? argv[1] : "plain";
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    work(200);
    MPI_Barrier(MPI_COMM_WORLD); /* all have samples by then */
    if (strcmp(how, "plain") == 0) {
        MPI_Finalize();
        return 0;
    }
    if (rank == 1) {
        if (strcmp(how, "abort") == 0) MPI_Abort(MPI_COMM_WORLD, 3);
        if (strcmp(how, "crash") == 0) *(volatile int *)1 = 1;
        if (strcmp(how, "kill") == 0) raise(SIGKILL);
        if (strcmp(how, "exit") == 0) _exit(5);
    }
    work(60000);
    MPI_Finalize();
    return 0;
}
