# Pipes of compressors, one of them with threads.
# needs: xz gzip bzip2
run() { head -c 700000 /usr/lib/x86_64-linux-gnu/libc.so.6 > in; xz -T2 -3 -c in | xz -dc | bzip2 | bzip2 -dc | gzip -9 | gzip -dc | cksum; }
"$@"
