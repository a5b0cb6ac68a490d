/* Two ranks that pass a large message to and fro, copy it, and agree on a sum. Copies are made by the
 * program itself and by the MPI library for its messages. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT (1 << 19) /* doubles in a message: 4 MiB */
#define ROUNDS 100

__attribute__((noinline)) static double compute(double *values, double factor) {
    double sum = 0;
    for (int i = 0; i < COUNT; i++) sum += values[i] *= factor;
    return sum;
}

__attribute__((noinline)) static void exchange(double *values, int rank) {
    if (rank == 0) {
        MPI_Send(values, COUNT, MPI_DOUBLE, 1, 0, MPI_COMM_WORLD);
        MPI_Recv(values, COUNT, MPI_DOUBLE, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
        MPI_Recv(values, COUNT, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Send(values, COUNT, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD);
    }
}

__attribute__((noinline)) static void keep(double *kept, const double *values) {
    memcpy(kept, values, COUNT * sizeof *values);
    __asm__ volatile(""); /* or else the call would be a jump, and `keep` off the stack */
}

int main(int argc, char **argv) {
    int rank, ranks;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (ranks != 2) MPI_Abort(MPI_COMM_WORLD, 2);
    double *values = malloc(COUNT * sizeof *values), *kept = malloc(COUNT * sizeof *kept);
    for (int i = 0; i < COUNT; i++) values[i] = rank + 1;
    double total = 0;
    for (int round = 0; round < ROUNDS; round++) {
        double mine = compute(values, round % 2 ? 0.5 : 2), both;
        exchange(values, rank);
        keep(kept, values);
        MPI_Allreduce(&mine, &both, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        total += both;
    }
    if (rank == 0) printf("total %.0f\n", total);
    MPI_Finalize();
    return 0;
}
