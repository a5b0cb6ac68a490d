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
