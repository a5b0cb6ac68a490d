# strace follows the children of a sampled shell.
# needs: strace
run() { strace -f -q -o trace sh -c 'for i in 1 2 3 4 5; do seq 2000 | sort -r | tail -1; done'; grep -c '+++ exited with' trace; }
"$@"
