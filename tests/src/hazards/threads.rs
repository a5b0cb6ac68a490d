//! Threads, by the thousand, and some that the C library does not know.

use super::processes::nothing_is_damaged;
use crate::hazard::{Hazard, Trial};

/// All of them.
pub const ALL: &[Hazard] = &[
    Hazard::new("thread_storm", &["cc -O2 -pthread -o program @thread_storm.c"])
        .by_two()
        .command(&["./program", "2000", "300"])
        .says("brief: 1999000\nC11: 4950\ntasks: 301\nalive: 44850\nraw: done, 1 left\n")
        .also(all_threads_are_there),
    Hazard::new("threads_alive", &["cc -O2 -pthread -o program @thread_storm.c"])
        .command(&["./program", "0", "2500"])
        .says("brief: 0\nC11: 4950\ntasks: 2501\nalive: 3123750\nraw: done, 1 left\n")
        .also(all_have_edges),
    Hazard::new("real_time", &["cc -O2 -pthread -o program @real_time.c"])
        .says("CPU time: little\n")
        .also(nothing_is_damaged),
    Hazard::new("raw_exits", &["cc -O2 -pthread -o program @raw_exits.c"])
        .by_two()
        .says("timers: few\nmappings: few\n")
        .also(nothing_is_damaged),
    Hazard::new("raw_threads", &["cc -O2 -o program @raw_threads.c"])
        .says("3 threads worked\n")
        .also(their_time_is_shown),
];

fn all_threads_are_there(trial: &Trial<'_>) {
    assert_eq!(trial.recording.profile.thread_count(), 1 + 2000 + 100 + 300);
    nothing_is_damaged(trial);
}

/// However many are alive at a time: nobody is told that some have none.
fn all_have_edges(trial: &Trial<'_>) {
    assert_eq!(trial.recording.profile.thread_count(), 1 + 100 + 2500);
    let messages = trial.recording.messages();
    assert!(!messages.contains("edge"), "{messages}");
    nothing_is_damaged(trial);
}

/// Three threads of 100 ms each that nobody could sample.
fn their_time_is_shown(trial: &Trial<'_>) {
    let info = &trial.recording.info;
    assert_eq!(info["processes"][0]["unsampled_threads"], 3);
    assert!(info["cpu_time"]["elsewhere_s"].as_f64() > Some(0.28), "{}", info["cpu_time"]);
    let messages = trial.recording.messages();
    assert!(messages.contains("made by clone(2), unknown to the C library"), "{messages}");
    nothing_is_damaged(trial);
}
