# A guest of qemu's, which must not be preloaded; qemu itself may be.
# needs: qemu-x86_64 gcc
# jit
prepare() {
    printf '#include <stdio.h>\nint main(void) { double s = 0; for (int i = 1; i < 3000000; i++) s += 1.0 / i; printf("%%.6f\\n", s); return 5; }\n' > g.c
    gcc -O2 -o guest g.c && gcc -O2 -static -o fixed g.c
}
run() { qemu-x86_64 ./guest; echo $?; qemu-x86_64 ./fixed; echo $?; }
"$@"
