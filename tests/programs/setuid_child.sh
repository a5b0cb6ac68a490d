# Children that the loader does not let be preloaded.
# needs: su
# Who is not root is asked for a password.
prepare() { su nobody -s /bin/sh -c true < /dev/null; }
run() { su nobody -s /bin/sh -c 'seq 3000 | sort -n | tail -1; id -u'; }
"$@"
