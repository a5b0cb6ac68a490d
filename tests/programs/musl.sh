# A program of another C library: it cannot load the collector, and must start without it.
# needs: musl-gcc gcc
# jit
prepare() {
    cat > work.c <<'C'
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <sys/wait.h>
static int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
static void *work(void *n) { return (void *)(long)fib((long)n); }
int main(int count, char **words) {
    pthread_t threads[4]; long sum = 0; void *result;
    for (long i = 0; i < 4; i++) pthread_create(&threads[i], 0, work, (void *)(25 + i));
    for (int i = 0; i < 4; i++) { pthread_join(threads[i], &result); sum += (long)result; }
    printf("%ld %d\n", sum, fib(32)); fflush(stdout);
    if (!fork()) { execlp("sh", "sh", "-c", "seq 20000 | sort -n | tail -1; ./native", (char *)0); _exit(1); }
    int status; wait(&status); return WEXITSTATUS(status) + count - 1;
}
C
    musl-gcc -O2 -o work work.c && musl-gcc -O2 -static -o fixed work.c
    printf '#include <stdio.h>\nint main(void) { double s = 0; for (int i = 1; i < 20000000; i++) s += 1.0 / i; printf("%%.6f\\n", s); return 4; }\n' > native.c
    gcc -O2 -o native native.c
}
run() { ./work; echo $?; ./fixed 1 2; echo $?; env -i PATH="$PATH" ./work; echo $?; }
"$@"
