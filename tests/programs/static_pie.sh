# Statically linked children cannot be sampled.
# needs: gcc
prepare() {
    printf '#include <stdio.h>\nint main(void) { double s = 0; for (int i = 1; i < 50000000; i++) s += 1.0 / i; printf("%%.6f\\n", s); return 0; }\n' > s.c
    gcc -O2 -static -o s s.c && gcc -O2 -static-pie -o sp s.c
}
run() { ./s; ./sp; sh -c './s & ./sp; wait'; }
"$@"
