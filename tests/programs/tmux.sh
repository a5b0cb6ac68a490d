# A terminal multiplexer becomes a daemon and runs a shell.
# needs: tmux
run() {
    tmux -L csprof-soak -f /dev/null new-session -d 'seq 100000 | tail -1 > out; tmux -L csprof-soak wait-for -S done; exec sleep 1000'
    tmux -L csprof-soak wait-for done; cat out; tmux -L csprof-soak kill-server 2> /dev/null; true
}
"$@"
