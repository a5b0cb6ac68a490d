//! Programs of random hazards, held against themselves alone. The gate runs a few; the soak makes
//! new ones for as long as it is asked to.

use csprof_tests::generator::Generated;
use csprof_tests::hazard::{SOURCES, TWO};
use csprof_tests::recording::Recording;

fn check(seed: u64) {
    let program = Generated::new("generated", seed);
    for source in SOURCES.into_iter().chain([TWO]) {
        let _: Recording = program.record(source);
    }
}

#[test]
fn first_seeds() {
    (1..=4).for_each(check);
}

#[test]
fn more_seeds() {
    (5..=8).for_each(check);
}

/// The program of one seed, to look at what the soak has found.
#[test]
fn seed_of_choice() {
    if let Ok(seed) = std::env::var("CSPROF_HAZARD_SEED") {
        check(seed.parse().unwrap());
    }
}
