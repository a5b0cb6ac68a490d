# Hundreds of forks, subshells and pipes.
# needs: bash
run() {
    bash -c 'n=0; for i in $(seq 120); do x=$(echo $i | tr 0-9 a-j); y=$( (echo $((i * i))) ); n=$((n + y)); done
        for i in $(seq 20000); do n=$((n + i % 7)); done; echo $n $x'
}
"$@"
