/* Goes 10 000 calls deep, works there, and comes back the same way. */
static volatile unsigned long sink;

__attribute__((noinline)) static void bottom(void) {
    unsigned long sum = 0;
    for (unsigned long i = 0; i < 1200000000; i++) sum += i ^ (sum >> 3);
    sink = sum;
}

__attribute__((noinline)) static void down(int calls) {
    if (calls > 1)
        down(calls - 1);
    else
        bottom();
    __asm__ volatile(""); /* or else the recursion would be a loop */
}

int main(void) {
    down(10000);
    return 0;
}
