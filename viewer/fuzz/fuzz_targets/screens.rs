//! Any bytes as a profile, to every report and to painted screens: no panic, nothing that a
//! terminal obeys. `cargo test -p csprof --test hostile` does the same without a nightly compiler.
//!
//! `cargo +nightly fuzz run screens -- -rss_limit_mb=1024 -timeout=1`, with
//! `tests/golden/v*/*.csprof` as the first corpus.

#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../../tests/hostile/drive.rs"]
mod drive;
#[path = "../../../format/fuzz/fuzz_targets/seal.rs"]
mod seal;

fuzz_target!(|bytes: &[u8]| {
    drive::drive(bytes, &mut |_| {});
    let mut sealed = bytes.to_vec();
    seal::seal(&mut sealed);
    drive::drive(&sealed, &mut |_| {});
});
