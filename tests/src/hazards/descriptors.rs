//! Programs that count on file numbers.

use super::processes::nothing_is_damaged;
use crate::hazard::{Hazard, Trial};
use crate::recording::Recording;

/// Whatever else the test was started with, the program begins with its three files.
macro_rules! with_three_files {
    ($limit:literal, $way:literal) => {
        concat!(
            "for file in /proc/$$/fd/*; do number=${file##*/}; ",
            "[ $number -gt 2 ] && [ $number -ne 255 ] && eval \"exec $number>&-\"; done; ",
            "ulimit ",
            $limit,
            " 256; exec ./program ",
            $way,
            " </dev/null"
        )
    };
}

const COMPILE: &[&str] = &["cc -O2 -pthread -o program @file_numbers.c"];
const SAYS: &str = "limit 256, opened 253, last 255\nfirst 3, child 3\n";

/// All of them.
pub const ALL: &[Hazard] = &[
    Hazard::new("files_closed_one_by_one", COMPILE)
        .variants(&["bash: "])
        .command(&["bash", "-c", with_three_files!("-Sn", "each")])
        .says(SAYS)
        .also(sampling_goes_on),
    Hazard::new("files_closed_in_a_range", COMPILE)
        .variants(&["bash: "])
        .command(&["bash", "-c", with_three_files!("-Sn", "range")])
        .says(SAYS)
        .also(sampling_goes_on),
    Hazard::new("files_closed_as_listed", COMPILE)
        .variants(&["bash: "])
        .command(&["bash", "-c", with_three_files!("-Sn", "listed")])
        .says(SAYS)
        .also(sampling_goes_on),
    Hazard::new("file_numbers_reused", COMPILE)
        .variants(&["bash: "])
        .command(&["bash", "-c", with_three_files!("-Sn", "reuse")])
        .says(SAYS)
        .also(sampling_goes_on),
];

/// Most of the work comes after all files were closed.
fn sampling_goes_on(trial: &Trial<'_>) {
    let is_there = |recording: &Recording| {
        let in_main = recording.refined("through main > work").inclusive_of("work");
        in_main > recording.rows().inclusive_of("work") / 2
    };
    assert!(trial.in_one_of_three(is_there), "{}", trial.recording.rows());
    assert_eq!(trial.recording.samples().delivered, trial.recording.samples().recorded);
    nothing_is_damaged(trial);
}
