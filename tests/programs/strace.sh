# strace follows the children of a sampled shell.
# needs: strace
# partial: too-deep 10
# Not everybody may trace (yama, seccomp). A walk of a traced process stops at each system call, and
# on a busy machine takes more than its thread may spend.
prepare() { strace -o /dev/null true; }
run() { strace -f -q -o trace sh -c 'for i in 1 2 3 4 5; do seq 2000 | sort -r | tail -1; done'; grep -c '+++ exited with' trace; }
"$@"
