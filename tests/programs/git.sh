# git: commits, then gc with its children and threads.
# needs: git
run() {
    rm -rf repo; git init -q repo; cd repo
    export GIT_AUTHOR_DATE=2020-01-01T00:00:00Z GIT_COMMITTER_DATE=2020-01-01T00:00:00Z HOME=$PWD
    git config user.email a@b; git config user.name a
    for i in $(seq 40); do seq $i 77 $((i * 3000)) > f$i; seq $((i * 50)) > g; git add . && git commit -qm "$i"; done
    git gc --quiet --aggressive; git fsck 2> /dev/null; git log --format=%H | head -1; git count-objects -v | grep -E 'packs|in-pack'
}
"$@"
