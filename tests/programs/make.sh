# make -j with a shell for every rule.
# needs: make gcc
prepare() {
    printf 'all: $(foreach n,$(shell seq 16),f$(n).o)\n\t@cat f1.o f16.o | cksum\nf%%.c:\n\t@echo "int f$*(int x) { return x * $*; }" > $@\nf%%.o: f%%.c\n\t@gcc -O2 -c -o $@ $<\n' > Makefile
}
run() { rm -f f*.o f*.c; make -j4; }
"$@"
