/* The next version of figure1.c: b calls c eight times instead of four, so that it costs twice what
 * it did, and twice what a does; and c is called compute now. */
#define HUGE (1L << 28)

__attribute__((noinline)) void d(void) { __asm__ volatile(""); }

__attribute__((noinline)) void compute(int n) {
    for (long i = 0; i < HUGE / n; ++i) d();
}

/* The last call would be a jump, and b or a would leave the stack before c, but for this. */
#define RETURN_HERE __asm__ volatile("")

__attribute__((noinline)) void b(void (*f)(int)) {
    for (int call = 0; call < 8; ++call) f(2);
    RETURN_HERE;
}

__attribute__((noinline)) void a(void (*f)(int)) {
    f(1);
    f(1);
    RETURN_HERE;
}

int main(void) {
    a(compute);
    b(compute);
    return 0;
}
