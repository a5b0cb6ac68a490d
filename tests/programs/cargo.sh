# cargo builds a small workspace: many compilers, pipes and a jobserver.
# needs: cargo cc
prepare() {
    mkdir -p w/src w/a/src w/b/src
    printf '[package]\nname = "w"\nversion = "0.1.0"\nedition = "2021"\n[dependencies]\na = { path = "a" }\nb = { path = "b" }\n[workspace]\n' > w/Cargo.toml
    for d in a b; do
        printf '[package]\nname = "%s"\nversion = "0.1.0"\nedition = "2021"\n' $d > w/$d/Cargo.toml
        echo 'pub fn f(x: &str) -> Vec<String> { let mut v: Vec<_> = x.split(" ").map(str::to_owned).collect(); v.sort(); v }' > w/$d/src/lib.rs
    done
    echo 'fn main() { println!("{:?} {:?}", a::f("z y x"), b::f("c b a")); }' > w/src/main.rs
}
run() { rm -rf w/target; (cd w && cargo run --offline --quiet --release); }
"$@"
