# valgrind runs programs on a processor of its own. It warns of DWARF operations that it does not
# know, in whatever library it finds them.
# needs: valgrind
# jit
run() { { valgrind -q --error-exitcode=9 gzip -c /bin/sh | cksum; } 2>&1 | grep -v 'DWARF2 CFI reader'; }
"$@"
