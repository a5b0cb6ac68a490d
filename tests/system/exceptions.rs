//! Exceptions through frames with a replaced return address: of C++, with shared and with static
//! unwinders, and panics of Rust. The programs count what they caught and cleaned up.

use csprof_tests::installed::are_installed;
use csprof_tests::workshop::Workshop;

#[test]
fn of_cpp() {
    unwinds("exceptions", "c++ -O2 -pthread -o program @exceptions.cpp", &[]);
}

/// Such an unwinder cannot be told to leave the trampoline out, so a program that asks it for a
/// backtrace is shown one frame more. Everything else is as it was.
#[test]
fn of_cpp_with_a_static_unwinder() {
    let line = "c++ -O2 -pthread -static-libgcc -static-libstdc++ -o program @exceptions.cpp";
    unwinds("exceptions_static", line, &[(" unsteady", " steady")]);
}

#[test]
fn of_rust() {
    if are_installed("exceptions of Rust", &["rustc"]) {
        unwinds("panics", "rustc --edition=2024 -O -o program @panics.rs", &[]);
    }
}

/// The program ends as it does alone, and the paths through the frames left are whole. It may say
/// the first of each two `words` instead of the second.
fn unwinds(test: &str, compile: &str, words: &[(&str, &str)]) {
    let workshop = Workshop::new(test);
    workshop.compile(compile);
    let alone = workshop.run(&["./program"]);
    assert!(alone.status.success() && alone.said().contains("caught"), "{alone:?}");
    let recording = workshop.record(&[], &["./program"]);
    let said =
        words.iter().fold(recording.outcome.said(), |said, (from, to)| said.replace(from, to));
    assert_eq!(said, alone.said());
    assert_eq!(recording.outcome.status, alone.status);
    recording.check_partial(test);
    let lost: u64 = recording.profile.threads.iter().map(|thread| thread.lost_returns).sum();
    assert!(lost > 0, "frames that were thrown through did not return");
}
