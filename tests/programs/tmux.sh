# A terminal multiplexer becomes a daemon and runs a shell.
# needs: tmux
run() {
    # A server of its own: that of the run before may still be ending.
    server=csprof-soak-$$
    tmux -L $server -f /dev/null new-session -d "seq 100000 | tail -1 > out; tmux -L $server wait-for -S done; exec sleep 1000"
    tmux -L $server wait-for done; cat out; tmux -L $server kill-server 2> /dev/null; true
}
"$@"
