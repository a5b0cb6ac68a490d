# A debugger attaches to a sampled program, looks and leaves; the program runs until it has.
# needs: gdb gcc
prepare() {
    cat > p.c <<'END'
#include <stdio.h>
#include <unistd.h>
__attribute__((noinline)) long d(long n) { return n ? 1 + d(n - 1) : 0; }
int main(void) {
    fclose(fopen("begun", "w"));
    long runs = 0, wrong = 0;
    for (; runs < 200000 || access("looked", F_OK); runs++) wrong += d(runs % 100) != runs % 100;
    printf("%ld\n", wrong);
    return 7;
}
END
    gcc -O1 -g -fno-optimize-sibling-calls -o p p.c
}
run() {
    rm -f looked begun
    ./p &
    # Before that it is yet to be executed, or loaded, and has no main.
    while [ ! -e begun ] && kill -0 $!; do sleep 0.05; done
    for i in 1 2 3; do DEBUGINFOD_URLS= gdb -nx -q -batch -p $! -ex bt 2> /dev/null | grep -cE '^#[0-9]+ .* main '; done; touch looked; wait $!; echo $?
}
"$@"
