// Two ranks that wait for each other in calls of MPI: rank 1 is late for each. Calls have 1 to 12
// arguments, and must do what they are told. Each rank writes on standard error, for each function,
// how many nanoseconds it measured itself.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { TURNS = 10, LATE_US = 20 * 1000 };

static int rank;

static long long now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000LL + now.tv_nsec;
}

static void check(int is_right) {
    if (!is_right) MPI_Abort(MPI_COMM_WORLD, 4);
}

#define WAIT(name, call, is_right)                                    \
    __attribute__((noinline)) static void wait_##name(void) {         \
        long long sum = 0;                                            \
        for (int turn = 0; turn < TURNS; turn++) {                    \
            int mine = rank + 10 * turn, other = 0, all[2] = {0, 0};  \
            (void)mine, (void)other, (void)all;                       \
            if (rank == 1) usleep(LATE_US);                           \
            long long before = now_ns();                              \
            call;                                                     \
            sum += now_ns() - before;                                 \
            check(is_right);                                          \
        }                                                             \
        fprintf(stderr, "%d wait_%s %lld\n", rank, #name, sum);       \
    }

WAIT(barrier, MPI_Barrier(MPI_COMM_WORLD), 1)
WAIT(allreduce, MPI_Allreduce(&mine, &other, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD),
     other == 1 + 20 * turn)
WAIT(reduce, MPI_Reduce(&mine, &other, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD),
     rank == 1 || other == 1 + 20 * turn)
WAIT(gather, MPI_Gather(&mine, 1, MPI_INT, all, 1, MPI_INT, 0, MPI_COMM_WORLD),
     rank == 1 || all[1] == 1 + 10 * turn)
WAIT(sendrecv,
     MPI_Sendrecv(&mine, 1, MPI_INT, !rank, 7, &other, 1, MPI_INT, !rank, 7, MPI_COMM_WORLD,
                  MPI_STATUS_IGNORE),
     other == !rank + 10 * turn)
WAIT(profiling, PMPI_Barrier(MPI_COMM_WORLD), 1)

int main(int argc, char **argv) {
    int ranks;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    check(ranks == 2);
    wait_barrier(), wait_allreduce(), wait_reduce(), wait_gather(), wait_sendrecv();
    wait_profiling();
    MPI_Finalize();
    return 0;
}
