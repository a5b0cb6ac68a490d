# OpenMPI with four ranks.
# needs: mpicc mpirun
prepare() {
    cat > m.c <<'END'
#include <mpi.h>
#include <stdio.h>
int main(int c, char **v) { int r, n; MPI_Init(&c, &v); MPI_Comm_rank(MPI_COMM_WORLD, &r); MPI_Comm_size(MPI_COMM_WORLD, &n);
static double a[20000], b[20000]; for (int i = 0; i < 20000; i++) a[i] = r + i % 13; double t = 0;
for (int k = 0; k < 200; k++) { MPI_Allreduce(a, b, 20000, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD); t += b[k]; MPI_Barrier(MPI_COMM_WORLD); }
if (!r) printf("%.0f\n", t); MPI_Finalize(); return 0; }
END
    mpicc -O2 -o m m.c
}
run() { mpirun --allow-run-as-root --oversubscribe -np 4 ./m; }
"$@"
