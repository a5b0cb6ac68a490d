/* What stands for an MPI library, or a library that calls it. */
#ifdef MPI
int MPI_Init(int *count, char ***words) { return 0; }
int MPI_Barrier(void *group) { return *(int *)group; }
#else
int MPI_Init(int *count, char ***words);
int MPI_Barrier(void *group);
int exchange(void) {
    int answer = 42;
    return MPI_Init(0, 0) ? -1 : MPI_Barrier(&answer);
}
#endif
