// Four ranks that compute and then wait for each other, a few times. Rank 2 is late: it computes
// ten times as long as the others, in a function that all have. The wait for the
// slowest MPI_Init is in a barrier of its own.
#include <mpi.h>
#include <time.h>

enum { TURNS = 6, OWN_MS = 8 };

static volatile double result;

static double cpu_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return now.tv_sec * 1e3 + now.tv_nsec / 1e6;
}

__attribute__((noinline)) static void relax(double ms) {
    for (double until = cpu_ms() + ms; cpu_ms() < until;)
        for (int step = 0; step < 10000; step++) result += step * 1e-9;
}

__attribute__((noinline)) static void solve(int rank) {
    relax(rank == 2 ? 10 * OWN_MS : OWN_MS);
    result += 1;
}

__attribute__((noinline)) static void settle(void) {
    MPI_Barrier(MPI_COMM_WORLD);
    result += 1;
}

__attribute__((noinline)) static void begin_together(void) {
    MPI_Barrier(MPI_COMM_WORLD);
    result += 1;
}

int main(int argc, char **argv) {
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    begin_together();
    for (int turn = 0; turn < TURNS; turn++) {
        solve(rank);
        settle();
    }
    MPI_Finalize();
    return 0;
}
