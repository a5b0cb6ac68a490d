# Children that the loader does not let be preloaded.
# needs: su
run() { su nobody -s /bin/sh -c 'seq 3000 | sort -n | tail -1; id -u'; }
"$@"
