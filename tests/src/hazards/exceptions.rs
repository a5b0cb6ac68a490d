//! Exceptions and panics through frames that are sampled, whose return addresses are replaced.

use crate::hazard::{Hazard, Trial};

/// All of them.
pub const ALL: &[Hazard] =
    &[Hazard::new("thrown_far_and_near", &["c++ -O2 -pthread -o program @exceptions.cpp"])
        .variants(&[
            "",
            "-static-libgcc -static-libstdc++",
            "-O0",
            "-O3 -fomit-frame-pointer",
            "-fcf-protection",
            "-fno-omit-frame-pointer",
            "clang",
            "clang -O3",
            "clang -static-libgcc -static-libstdc++",
        ])
        .command(&["./program", "100"])
        .says(
            "caught 200 cleaned 2500 values 2100 depth 6000 steady\n\
             thread caught 200 cleaned 2500 values 2100 depth 6000 steady\n\
             thread caught 200 cleaned 2500 values 2100 depth 6000 steady\n\
             thread caught 200 cleaned 2500 values 2100 depth 6000 steady\n",
        )
        .also(frames_did_not_return)];

/// What an exception leaves does not return.
fn frames_did_not_return(trial: &Trial<'_>) {
    assert!(trial.lost_returns() > 0, "frames that were thrown through did not return");
}
