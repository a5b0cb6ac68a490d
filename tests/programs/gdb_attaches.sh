# A debugger attaches to a sampled program, looks and leaves.
# needs: gdb gcc
prepare() {
    printf '#include <stdio.h>\n__attribute__((noinline)) long d(long n) { return n ? 1 + d(n - 1) : 0; }\nint main(void) { long s = 0; for (long i = 0; i < 6000000; i++) s += d(i %% 100); printf("%%ld\\n", s); return 7; }\n' > p.c
    gcc -O1 -g -fno-optimize-sibling-calls -o p p.c
}
run() {
    ./p & for i in 1 2 3; do DEBUGINFOD_URLS= gdb -nx -q -batch -p $! -ex bt 2> /dev/null | grep -cE '^#[0-9]+ .* main '; done; wait $!; echo $?
}
"$@"
