//! Signals that csprof uses and the program, too: the program believes that it has what it asked
//! for, samples come nevertheless, and the profile says what was withheld.

use csprof_tests::paths::is_share;
use csprof_tests::workshop::Workshop;

#[test]
fn a_program_with_a_profiler_of_its_own() {
    let workshop = Workshop::new("own_profiler");
    workshop.compile("cc -O2 -o program @own_profiler.c");
    let recording = workshop.record(&[], &["./program"]);
    assert_eq!(recording.outcome.said(), "done\n");
    assert_eq!(recording.outcome.status.code(), Some(0));
    // 300 ms of CPU time at 200 samples per second.
    assert!(is_share(recording.rows().inclusive_of("work"), 120, 50));
    let messages = recording.messages();
    assert!(messages.contains("own SIGPROF handler is not called"), "{messages}");
    assert!(messages.contains("ITIMER_PROF does not run"), "{messages}");
}

#[test]
fn a_program_that_asks_for_everything_about_sigprof() {
    says_the_same("own_profiling_signal", "cc -O2 -o program @own_profiling_signal.c");
}

#[test]
fn a_program_that_creates_threads_with_signals_blocked() {
    says_the_same("blocked_signals", "cc -O2 -pthread -o program @blocked_signals.c");
}

#[test]
fn a_program_that_waits_for_signals() {
    says_the_same("waits", "cc -O2 -o program @waits.c");
}

#[test]
fn a_program_whose_threads_end_in_every_way() {
    says_the_same("thread_ends", "cc -O2 -pthread -o program @thread_ends.c");
}

fn says_the_same(test: &str, compile: &str) {
    let workshop = Workshop::new(test);
    workshop.compile(compile);
    let alone = workshop.run(&["./program"]);
    for source in ["cputime", "task-clock@1000"] {
        let recording = workshop.record(&["-e", source], &["./program"]);
        assert_eq!(recording.outcome.said(), alone.said(), "{source}");
        assert_eq!(recording.outcome.status, alone.status, "{source}");
    }
}
