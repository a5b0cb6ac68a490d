/* The program of Figure 1 in Froyd, Mellor-Crummey, Fowler: "Low-Overhead Call Path Profiling of
 * Unmodified, Optimized Code", ICS'05. a calls c twice; b calls c four times, for half as long
 * each. So a and b cost the same, and a call of c from b costs half of one from a. A profiler
 * that shares out the cost of c by calls gives a one third of it. */
#define HUGE (1L << 28)

__attribute__((noinline)) void d(void) { __asm__ volatile(""); }

__attribute__((noinline)) void c(int n) {
    for (long i = 0; i < HUGE / n; ++i) d();
}

/* The last call would be a jump, and b or a would leave the stack before c, but for this. */
#define RETURN_HERE __asm__ volatile("")

__attribute__((noinline)) void b(void (*f)(int)) {
    f(2);
    f(2);
    f(2);
    f(2);
    RETURN_HERE;
}

__attribute__((noinline)) void a(void (*f)(int)) {
    f(1);
    f(1);
    RETURN_HERE;
}

int main(void) {
    a(c);
    b(c);
    return 0;
}
