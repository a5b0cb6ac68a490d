/* Calls that are jumps: when `last` works, `first` and `middle` have left the stack, and `main`
 * will be returned to as if it had called `last`. */
static volatile unsigned long sink;

__attribute__((noinline)) static int last(long n) {
    unsigned long sum = 0;
    for (long i = 0; i < n; i++) sum += i ^ (sum >> 3);
    sink = sum;
    return (int)n;
}

__attribute__((noinline)) static int middle(long n) { return last(n * 2); }
__attribute__((noinline)) static int first(long n) { return middle(n * 5); }

static volatile long n = 25000000; /* unknown, so that there is one version of each function */

int main(void) {
    int sum = 0;
    for (int i = 0; i < 3; i++) sum += first(n);
    return sum == 0;
}
