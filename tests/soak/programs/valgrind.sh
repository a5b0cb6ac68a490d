# valgrind runs programs on a processor of its own.
# needs: valgrind
run() { valgrind -q --error-exitcode=9 gzip -c /bin/sh | cksum; }
"$@"
