//! Stacks of unusual shape, and what must stay as it is across a return.

use crate::hazard::Hazard;

/// All of them.
pub const ALL: &[Hazard] = &[
    Hazard::new("registers_kept", &["cc -O2 -o program @registers_kept.c"])
        .variants(&["", "clang"])
        .says("wrong 0\n"),
    Hazard::new("realigned_frames", &["cc -O2 -w -o program @realigned_frames.c"])
        .variants(&["", "-O0", "-O3 -fomit-frame-pointer", "clang", "clang -O3"])
        .says("24740500\n"),
    Hazard::new("large_frames", &["cc -O2 -pthread -o program @large_frames.c"])
        .variants(&["", "-O0", "-O3 -fomit-frame-pointer", "-fstack-clash-protection", "clang"])
        .says("2100 11500\n"),
    Hazard::new("deep_recursion", &["cc -O2 -pthread -o program @deep_recursion.c"])
        .variants(&["", "-O0", "-fcf-protection", "clang"])
        .command(&["sh", "-c", "ulimit -s unlimited; exec ./program"])
        .says("unlimited 1, 600000 600000\n"),
    Hazard::new("without_cfi", &["cc -O2 -o program @without_cfi.c"])
        .variants(&["", "-fno-omit-frame-pointer", "clang"])
        .says("10500\n"),
    Hazard::new("matrix_kernels", &["cc -O2 -o program @matrix_kernels.c"])
        .variants(&["", "-O0", "-O3 -fomit-frame-pointer", "clang"])
        .says("wrong 0\n")
        .also(|trial| {
            // Below their callers, which lead to main.
            let rows = trial.recording.refined("through main > with_room");
            for function in ["frame_in_rbx", "frame_on_stack"] {
                assert!(rows.inclusive_of(function) > 0, "no {function}:\n{rows}");
            }
        }),
    Hazard::new(
        "lazy_binding",
        &[
            "cc -O2 -fPIC -shared -o liblazy.so @lazy_binding/library.c",
            "cc -O2 -pthread -o program @lazy_binding/main.c -L. -llazy -Wl,-z,lazy -Wl,-rpath,.",
        ],
    )
    .variants(&["", "-fcf-protection", "-O0", "-Wl,-z,now", "ld.lld: -fuse-ld=lld", "clang"])
    .says("20133640 20133640 20133640 20133640\n"),
    Hazard::new("split_stack", &["gcc -O2 -fsplit-stack -pthread -o program @split_stack.c"])
        .variants(&["", "-O0", "-s"])
        .says("12200 12200\n")
        .also(|trial| {
            let messages = trial.recording.messages();
            assert!(messages.contains("stacks are split"), "{messages}");
        }),
];
