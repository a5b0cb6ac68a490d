# valgrind runs programs on a processor of its own. It warns of call frame information that it does
# not know, in whatever library it finds it: in csprof's there is none.
# needs: valgrind
# jit
run() { { valgrind -q --error-exitcode=9 gzip -c /bin/sh | cksum; } 2>&1; }
"$@"
