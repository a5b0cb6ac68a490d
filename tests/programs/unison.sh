# unison: OCaml's native code without its compiler, and with signals and files.
# needs: unison
# jit
run() {
    rm -rf home one two; mkdir -p home one/a/b one/c
    export HOME=$PWD/home UNISON=$PWD/home/state
    i=0
    while [ $i -lt 120 ]; do
        echo "$i $((i * i * i % 1009))" > one/a/b/$i; i=$((i + 1))
    done
    seq 1 200000 > one/c/large
    say() { unison one two -ui text -batch -silent -ignorearchives "$@" >/dev/null 2>&1; echo $?; }
    say; say -force one -times
    rm one/a/b/1*; echo changed >> one/c/large; say -force one
    find two -type f | sort | xargs cat | cksum; find one two -type f | wc -l
}
"$@"
