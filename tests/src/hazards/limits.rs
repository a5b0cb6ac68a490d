//! Programs that forbid themselves something.

use super::processes::nothing_is_damaged;
use crate::hazard::{CALLS, Ended, Hazard, Trial};
use crate::recording::Recording;

const SANDBOX: &[&str] = &["cc -O2 -pthread -o program @sandbox.c"];

/// All of them.
pub const ALL: &[Hazard] = &[
    Hazard::new("limits", &["cc -O2 -pthread -o program @limits.c"])
        .command(&[
            "sh",
            "-c",
            "for way in as fsize nofile stack sigpending memlock; do ./program $way; done",
        ])
        .says(
            "as: sum 149531, thread over, library over, child over\n\
             fsize: sum 149531, thread over, library over, child over\n\
             nofile: sum 149531, thread over, library over, child over\n\
             stack: sum 149531, thread over, library over, child over\n\
             sigpending: sum 149531, thread over, library over, child over\n\
             memlock: sum 149531, thread over, library over, child over\n",
        )
        .also(what_is_refused_is_counted),
    Hazard::new("tight_memory", &["cc -O2 -pthread -o program @tight_memory.c"])
        .says("died: 0\n")
        .also(want_of_memory_has_a_word),
    Hazard::new("limit_kept", &["cc -O2 -pthread -o program @limit_kept.c"])
        .says("wrong: 0, lost: 0\n")
        .also(nothing_is_damaged),
    Hazard::new("sandbox_by_prctl", SANDBOX)
        .command(&["./program", "prctl"])
        .says("prctl: worked\n")
        .ends(Ended::Status(7))
        .also(sampling_ends_with_a_word),
    Hazard::new("sandbox_by_syscall", SANDBOX)
        .command(&["./program", "syscall"])
        .says("syscall: worked\n")
        .ends(Ended::Status(7))
        .also(sampling_ends_with_a_word),
    Hazard::new("sandbox_strict", SANDBOX)
        .command(&["./program", "strict"])
        .says("strict: worked\n")
        .ends(Ended::Status(7))
        .also(sampling_ends_with_a_word),
    Hazard::new("sandbox_executes", SANDBOX)
        .command(&["./program", "executes"])
        .says("6 faults\n")
        .ends(Ended::Status(7))
        .by_two(),
    Hazard::new("sandbox_asked_for", SANDBOX)
        .command(&["./program", "asks"])
        .says("3 faults\n")
        .ends(Ended::Status(7))
        .also(|trial| trial.assert_worked(|recording| recording.rows().inclusive_of("main"), 200)),
    Hazard::new("sealed_signals", &["cc -O2 -pthread -o program @sealed_signals.c"])
        .says(
            "handler restarts masks USR1, default, (2.)1.(2.)1.(2.)1., and before: handler, \
             after: handler\n\
             h: 5\n\
             handler masks USR1, default, \n\
             a read fails with EINTR\n\
             r: 3\n\
             ignored restarts, default, , and before: ignored, after: handler\n\
             i: 5\n\
             default, default, pending, blocked\n\
             b: 4\n\
             default, default, \n\
             d: killed by PROF\n\
             pending, blocked, was blocked: one, two\n\
             t: 2\n\
             pending, blocked\n\
             u: killed by PROF\n",
        )
        .by_two()
        .also(sampling_ends_with_a_word),
    Hazard::new("forbidden_return", &["cc -O2 -pthread -o program @forbidden_return.c"])
        .says("3\n3\n3\n3\ndone\n")
        .by_two()
        .also(sampling_ends_with_a_word),
    Hazard::new("seals_beside_waits", &["cc -O2 -pthread -o program @seals_beside_waits.c"])
        .says("read: open, slept: open\n")
        .by_two()
        .also(sampling_ends_with_a_word),
    Hazard::new("forbidden_clock", &["cc -O2 -pthread -o program @forbidden_clock.c"])
        .says("worked\n")
        .by_two(),
    Hazard::new("sealed_throw", &["c++ -O2 -o program @sealed_throw.cpp"])
        .says("caught 7\n")
        .ends(Ended::Status(7)),
    Hazard::new("seals_beside_callback", &["cc -O2 -pthread -o program @seals_beside_callback.c"])
        .says("ended with 0\n"),
    Hazard::new(
        "child_seals_beside_callback",
        &["cc -O2 -pthread -o program @seals_beside_callback.c"],
    )
    .command(&["./program", "child"])
    .says("ended with 0\n"),
    Hazard::new("dispatched_by_prctl", &["cc -O2 -o program @dispatched.c"])
        .says("calls: 1\n")
        .by_two()
        .also(sampling_ends_with_a_word),
    Hazard::new("dispatched_by_syscall", &["cc -O2 -o program @dispatched.c"])
        .command(&["./program", "syscall"])
        .says("calls: 1\n")
        .also(sampling_ends_with_a_word),
    Hazard::new("traced", &["cc -O2 -o program @traced.c"])
        .says("stopped by USR1 4 times, 4 ended\n")
        .by_two(),
    Hazard::new("traced_by_syscall", &["cc -O2 -o program @traced.c"])
        .command(&["./program", "syscall"])
        .says("stopped by USR1 4 times, 4 ended\n"),
    Hazard::new("traced_by_nobody", &["cc -O2 -o program @traced.c"])
        .command(&["./program", "refused"])
        .says("4 ended\n")
        .also(|trial| trial.assert_worked(|recording| recording.rows().inclusive_of("main"), 200)),
    Hazard::new("perf_events_forbidden", FORBIDDING)
        .command(&["./forbidding", "perf", "./program", "20", "20"])
        .says(STORM)
        .also(another_source_is_used),
    Hazard::new("timers_forbidden", FORBIDDING)
        .command(&["./forbidding", "timers", "./program", "20", "20"])
        .says(STORM)
        .also(nothing_is_damaged),
    Hazard::new("all_sources_forbidden", FORBIDDING)
        .command(&["./forbidding", "perf,timers", "./program", "20", "20"])
        .says(STORM)
        .also(nobody_is_sampled),
];

const FORBIDDING: &[&str] =
    &["cc -O2 -o forbidding @forbidding.c", "cc -O2 -pthread -o program @thread_storm.c"];
const STORM: &str = "brief: 190\nC11: 4950\ntasks: 21\nalive: 190\nraw: done, 1 left\n";

/// The main threads work for 40 ms before and after, whatever is refused meanwhile.
fn what_is_refused_is_counted(trial: &Trial<'_>) {
    let expected = trial.samples_in_ms(6 * 40);
    let works = |recording: &Recording| {
        let samples = recording.refined("through main > work").inclusive_of("work");
        trial.are_half(recording, samples, expected)
    };
    assert!(trial.in_one_of_three(works), "{expected}: {}", trial.recording.rows());
    let messages = trial.recording.messages();
    assert!(messages.contains("made by fork, not in this profile: shared memory"), "{messages}");
    assert!(messages.contains("a thread is not sampled: shared memory"), "{messages}");
}

fn want_of_memory_has_a_word(trial: &Trial<'_>) {
    let messages = trial.recording.messages();
    assert!(messages.contains("memory for it was refused"), "{messages}");
    nothing_is_damaged(trial);
}

fn sampling_ends_with_a_word(trial: &Trial<'_>) {
    let messages = trial.recording.messages();
    assert!(messages.contains("restricted its system calls (seccomp"), "{messages}");
}

fn another_source_is_used(trial: &Trial<'_>) {
    if trial.source.starts_with("task-clock") {
        let messages = trial.recording.messages();
        assert!(messages.contains("task-clock was refused by perf_event_open"), "{messages}");
    }
    nothing_is_damaged(trial);
}

/// Main thread, 20 brief ones, 100 of C11, 20 alive at a time, and one that nobody could sample.
fn nobody_is_sampled(trial: &Trial<'_>) {
    let processes = trial.recording.info["processes"].as_array().unwrap();
    let unsampled = processes.iter().map(|process| process["unsampled_threads"].as_u64().unwrap());
    // Calls are no source that could be refused: the one is unknown to the C library.
    let expected = if trial.source == CALLS { 1 } else { 142 };
    assert_eq!(unsampled.sum::<u64>(), expected, "{}", trial.recording.info);
    let messages = trial.recording.messages();
    assert!(messages.contains("its timer was refused"), "{messages}");
    nothing_is_damaged(trial);
}
