// A rank of a job, as the environment says (PMI_RANK), without MPI. Rank 7 works eight times as
// long as the others, in functions that all have; then each waits awake until it has had as much
// CPU time as rank 7. So how much each has is known, however long that takes.
#include <stdlib.h>
#include <time.h>

enum { TURNS = 4, OWN_MS = 8, LATE = 8, WAIT_MS = 16 };

static volatile double result;

static double cpu_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return now.tv_sec * 1e3 + now.tv_nsec / 1e6;
}

__attribute__((noinline)) static void relax(double ms) {
    for (double until = cpu_ms() + ms; cpu_ms() < until;) {
        for (int step = 0; step < 3000; step++) result += step * 1e-9;
        for (int step = 0; step < 3000; step++) result /= 1 + step * 1e-9;
        for (int step = 0; step < 3000; step++) result = result * result - step;
    }
}

__attribute__((noinline)) static void solve(double ms) {
    relax(ms / 2);
    result += 1;
    relax(ms / 2);
    result += 1;
}

__attribute__((noinline)) void MPI_Barrier(double until) {
    while (cpu_ms() < until)
        for (int step = 0; step < 3000; step++) result += step * 1e-9;
}

int main(void) {
    const char *rank = getenv("PMI_RANK");
    double own = rank != NULL && atoi(rank) == 7 ? LATE * OWN_MS : OWN_MS;
    // One call site, however the compiler likes loops.
    for (volatile int turn = 0; turn < TURNS; turn++) {
        solve(own);
        MPI_Barrier((turn + 1) * (LATE * OWN_MS + WAIT_MS / TURNS));
    }
    return 0;
}
