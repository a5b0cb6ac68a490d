WORK(12)
static __attribute__((noinline)) void three(void) {
    work();
    __asm__("");
}
