# A debugger runs a sampled program to a breakpoint and on. Process ids are not repeatable.
# needs: gdb gcc
prepare() {
    printf '#include <stdio.h>\n__attribute__((noinline)) long d(long n) { return n ? 1 + d(n - 1) : 0; }\n__attribute__((noinline)) void stop(long x) { __asm__ volatile("" : : "r"(x)); }\nint main(void) { long s = 0; for (long i = 0; i < 300000; i++) s += d(i %% 100); stop(s); printf("%%ld\\n", s); return 7; }\n' > p.c
    gcc -O1 -g -o p p.c
}
run() { DEBUGINFOD_URLS= gdb -nx -q -batch -ex 'handle all nostop noprint pass' -ex 'break stop' -ex run -ex bt -ex continue ./p 2>&1 | sed 's/process [0-9]*/process N/'; }
"$@"
