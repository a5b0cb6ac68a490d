# OpenMP with eight threads, GNU runtime.
# needs: gcc
prepare() { gcc -O2 -fopenmp -o o "${0%/*}/../workloads/openmp.c"; }
run() { OMP_NUM_THREADS=8 OMP_WAIT_POLICY=passive ./o; }
"$@"
