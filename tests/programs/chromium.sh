# Chromium: many processes, which are started with all signals at their defaults, by system calls; code made at run time.
# needs: chromium
# jit
prepare() { echo "<script>let s = 0; for (let i = 0; i < 3e7; i++) s += i % 7; document.write(s)</script>" > page.html; }
run() {
    rm -rf user
    HOME=$PWD chromium --headless --no-sandbox --disable-gpu --user-data-dir="$PWD/user" --dump-dom "file://$PWD/page.html" 2> log
}
"$@"
