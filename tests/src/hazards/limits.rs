//! Programs that forbid themselves something.

use super::processes::nothing_is_damaged;
use crate::hazard::{Ended, Hazard, Trial};
use crate::paths::is_share;

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
        .says("wrong: 0\n")
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
];

/// The main threads work for 40 ms before and after, whatever is refused meanwhile.
fn what_is_refused_is_counted(trial: &Trial<'_>) {
    let rows = trial.recording.rows();
    let samples = rows.at(&["main", "work"]).inclusive;
    let expected = trial.samples_in_ms(6 * 40);
    assert!(is_share(samples, 2 * expected, 50) || samples > expected, "{samples}: {rows}");
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
    assert!(messages.contains("restricted its system calls (seccomp)"), "{messages}");
}
