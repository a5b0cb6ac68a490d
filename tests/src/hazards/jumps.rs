//! Frames that are left by jumps: longjmp in all its forms, and calls that are jumps.

use crate::hazard::Hazard;
use crate::recording::Recording;

/// All of them.
pub const ALL: &[Hazard] = &[
    Hazard::new("jumps_in_loops", &["cc -O2 -pthread -o program @jumps_in_loops.c"])
        .by_two()
        .variants(&[
            "",
            "-D_FORTIFY_SOURCE=2",
            "-O0",
            "-O3 -fomit-frame-pointer",
            "-fcf-protection",
            "clang",
            "clang -D_FORTIFY_SOURCE=2",
        ])
        .in_gate(2)
        .says(
            "sum 3600, kept 300, blocked 0\n\
             sum 3600, kept 300, blocked 0\n\
             sum 3600, kept 300, blocked 0\n\
             sum 3600, kept 300, blocked 0\n",
        ),
    Hazard::new("timer_jumps", &["cc -O2 -o program @timer_jumps.c"])
        .variants(&["", "-O0", "-D_FORTIFY_SOURCE=2 -fcf-protection", "clang"])
        .says("left 400\n"),
    Hazard::new(
        "thrown_out_of_waits",
        &["c++ -O2 -fnon-call-exceptions -o program @thrown_out_of_waits.cpp"],
    )
    .variants(&["", "clang", "-O0"])
    .by_two()
    .says("left 3, came 4\n"),
    Hazard::new("jumps_out_of_waits", &["cc -O2 -o program @jumps_out_of_waits.c"])
        .variants(&["", "-D_FORTIFY_SOURCE=2", "clang"])
        .by_two()
        .says("left 9, open 9, blocked 9, trapped 1\n")
        .also(|trial| {
            let goes_on = |recording: &Recording| recording.rows().inclusive_of("work_at_last") > 0;
            let is_right = trial.in_one_of_three(goes_on);
            assert!(is_right, "sampling has ended:\n{}", trial.recording.rows());
        }),
    Hazard::new("every_tail_call", &["cc -O2 -fno-builtin -o program @every_tail_call.c"])
        .variants(&["", "-O3 -fomit-frame-pointer", "-Wl,-z,lazy", "-fno-plt", "clang"])
        .says("50050000\n"),
];
