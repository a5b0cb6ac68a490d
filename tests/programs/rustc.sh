# The Rust compiler, optimizing with several threads.
# needs: rustc cc
prepare() {
    echo 'use std::collections::BTreeMap;
fn main() {
    let mut map = BTreeMap::new();
    for word in "the quick brown fox jumps over the lazy dog".split(" ") { *map.entry(word.to_owned()).or_insert(0u32) += 1; }
    println!("{map:?}");
}' > words.rs
}
run() { rustc -C opt-level=3 -C debuginfo=2 words.rs && ./words; }
"$@"
