// Four ranks that move known amounts of data, each in a function of its own. The comments say how
// many bytes the arguments of all ranks' calls name, in all.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RANKS = 4 };

static int rank, next, before;
static int many[4096], others[4096];

static void check(int is_right) {
    if (!is_right) MPI_Abort(MPI_COMM_WORLD, 4);
}

#define WORLD MPI_COMM_WORLD
#define IGNORED MPI_STATUS_IGNORE
#define MOVE(name, ...) \
    __attribute__((noinline)) static void move_##name(void) { __VA_ARGS__; many[4000]++; }

// 4 × (400 sent, room for 600): 4000
MOVE(isend, MPI_Request both[2]; MPI_Irecv(others, 150, MPI_INT, MPI_ANY_SOURCE, 1, WORLD, both);
     MPI_Isend(many, 100, MPI_INT, next, 1, WORLD, both + 1);
     MPI_Waitall(2, both, MPI_STATUSES_IGNORE))
// 4 × (80 + 160): 960
MOVE(sendrecv, MPI_Sendrecv(many, 10, MPI_DOUBLE, next, 2, others, 20, MPI_DOUBLE, before, 2, WORLD,
                            IGNORED))
// 4 × 2 × 12: 96
MOVE(replace, MPI_Sendrecv_replace(others, 3, MPI_INT, next, 2, before, 2, WORLD, IGNORED))
// 4 × 25: 100
MOVE(bcast, MPI_Bcast(others, 25, MPI_CHAR, 1, WORLD))
// 4 × 56: 224
MOVE(allreduce, MPI_Allreduce(MPI_IN_PLACE, others, 7, MPI_DOUBLE, MPI_MAX, WORLD))
// 4 × 12: 48
MOVE(reduce, MPI_Reduce(many, others, 3, MPI_INT, MPI_SUM, 2, WORLD))
// 3 × 20, for the root has its part in its place: 60
MOVE(gather, if (rank == 0) MPI_Gather(MPI_IN_PLACE, 99, MPI_DATATYPE_NULL, others, 5, MPI_INT, 0,
                                       WORLD);
     else MPI_Gather(many, 5, MPI_INT, 0, 0, MPI_DATATYPE_NULL, 0, WORLD))
// 4 × 24: 96
MOVE(scatter, MPI_Scatter(many, 6, MPI_INT, others, 6, MPI_INT, 3, WORLD))
// 4 × 8: 32
MOVE(allgather, MPI_Allgather(many, 2, MPI_INT, others, 2, MPI_INT, WORLD))
// 4 × 4 × 12: 192
MOVE(alltoall, MPI_Alltoall(many, 3, MPI_INT, others, 3, MPI_INT, WORLD))
// Each sends 1, 2, 3 and 4: 4 × 40: 160
MOVE(alltoallv, int sent[] = {1, 2, 3, 4}, from[] = {0, 1, 3, 6}, at[] = {0, 20, 40, 60};
     int got[] = {rank + 1, rank + 1, rank + 1, rank + 1};
     MPI_Alltoallv(many, sent, from, MPI_INT, others, got, at, MPI_INT, WORLD))
// 0 + 4 + 8 + 12: 24
MOVE(gatherv, int got[] = {0, 1, 2, 3}, at[] = {0, 10, 20, 30};
     MPI_Gatherv(many, rank, MPI_INT, others, got, at, MPI_INT, 0, WORLD))
// The same: 24
MOVE(scatterv, int sent[] = {0, 1, 2, 3}, from[] = {0, 10, 20, 30};
     MPI_Scatterv(many, sent, from, MPI_INT, others, rank, MPI_INT, 0, WORLD))
// 4 × (1 + 2 + 3 + 4) × 4: 160
MOVE(reduce_scatter, int parts[] = {1, 2, 3, 4};
     MPI_Reduce_scatter(many, others, parts, MPI_INT, MPI_SUM, WORLD))
// 2 × 2 elements of 12 bytes, sent and received: 48
MOVE(derived, MPI_Datatype three; MPI_Type_contiguous(3, MPI_INT, &three); MPI_Type_commit(&three);
     if (rank == 0) MPI_Send(many, 2, three, 1, 3, WORLD);
     if (rank == 1) MPI_Recv(others, 2, three, 0, 3, WORLD, IGNORED);
     MPI_Type_free(&three))
// Nobody is there: 0
MOVE(nobody, MPI_Send(many, 100, MPI_INT, MPI_PROC_NULL, 4, WORLD);
     MPI_Recv(others, 100, MPI_INT, MPI_PROC_NULL, 4, WORLD, IGNORED))
// Between one rank and three, each with a count for each rank of its own group: 4 × 24: 96
MOVE(across, int one[] = {6}, three[] = {1, 2, 3}; MPI_Comm own, both;
     MPI_Comm_split(WORLD, rank > 0, rank, &own);
     MPI_Intercomm_create(own, 0, WORLD, rank > 0 ? 0 : 1, 5, &both);
     MPI_Reduce_scatter(many, others, rank > 0 ? three : one, MPI_INT, MPI_SUM, both);
     MPI_Comm_free(&both); MPI_Comm_free(&own))

int main(int argc, char **argv) {
    int ranks;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(WORLD, &rank);
    MPI_Comm_size(WORLD, &ranks);
    check(ranks == RANKS);
    next = (rank + 1) % RANKS;
    before = (rank + RANKS - 1) % RANKS;
    for (int i = 0; i < 4000; i++) many[i] = i;
    move_isend();
    check(others[99] == 99);
    move_sendrecv();
    check(others[19] == 19);
    move_replace(), move_bcast(), move_allreduce(), move_reduce(), move_gather();
    check(rank != 0 || others[5] == 0);
    move_scatter(), move_allgather(), move_alltoall(), move_alltoallv(), move_gatherv();
    move_scatterv(), move_reduce_scatter(), move_derived(), move_nobody();
    move_across();
    printf("done\n");
    MPI_Finalize();
    return 0;
}
