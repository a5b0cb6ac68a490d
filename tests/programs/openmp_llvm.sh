# OpenMP with eight threads, LLVM runtime.
# needs: clang
prepare() { clang -O2 -fopenmp -o o "${0%/*}/../workloads/openmp.c"; }
run() { OMP_NUM_THREADS=8 OMP_WAIT_POLICY=passive ./o; }
"$@"
