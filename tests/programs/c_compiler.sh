# The C compiler on a long generated source, through assembler and linker.
# needs: gcc
prepare() {
    for i in $(seq 70); do
        echo "double f$i(double *a, int n) { double s = $i; for (int i = 0; i < n; i++)" \
             "{ s += a[i] * $i; if (s > 1e9) s /= a[i / 2]; } return s; }"
    done > long.c
    echo 'int main(void) { return 0; }' >> long.c
}
run() { gcc -O2 -o long long.c && objdump -d long | cksum; }
"$@"
