//! Stacks of unusual shape, and what must stay as it is across a return.

use csprof_format::loss::PartialReason;

use crate::hazard::{Ended, Hazard, Trial};
use crate::paths::Rows;
use crate::recording::{Allowed, Recording};

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
        .says("unlimited 1, 200000 200000\n"),
    Hazard::new("deep_unarmed", &["cc -O2 -rdynamic -o program @deep_unarmed.c"])
        .variants(&["", "-O0", "clang"])
        .command(&["sh", "-c", "ulimit -s unlimited; exec ./program"])
        .says("900000\n")
        .cut(&[Allowed { reason: PartialReason::TooDeep, per_thousand: 1000 }])
        .also(|trial| {
            let reasons = |recording: &Recording| recording.info["partial_reasons"].clone();
            let is_cut = |recording: &Recording| reasons(recording)["too-deep"].as_u64() > Some(0);
            assert!(trial.in_one_of_three(is_cut), "{}", reasons(&trial.recording));
        }),
    Hazard::new("without_cfi", &["cc -O2 -o program @without_cfi.c"])
        .variants(&["", "-fno-omit-frame-pointer", "clang"])
        .says("10500\n"),
    Hazard::new("generated_code", &["cc -O2 -fno-omit-frame-pointer -o program @generated_code.c"])
        .variants(&["", "-fomit-frame-pointer", "-O0", "clang"])
        .options(&["--generated"])
        .says("316000\n")
        .cut(&[Allowed { reason: PartialReason::UnknownModule, per_thousand: 400 }])
        .also(generated_code_is_crossed),
    Hazard::new("returns_otherwise", &["cc -O2 -o program @returns_otherwise.c"])
        .by_two()
        .variants(&["", "clang"])
        .says(
            "18300 frames, asks 0, inlined 0, at once 0, undescribed 0, thunks 0, jumps back 0\n",
        ),
    Hazard::new("instrumented", &["cc -O2 -finstrument-functions -o program @instrumented.c"])
        .by_two()
        .variants(&["", "-O0", "clang"])
        .says("220000, 220000 ends, 0 wrong\n")
        .also(|trial| {
            let messages = trial.recording.messages();
            assert!(messages.contains("-finstrument-functions"), "{messages}");
        }),
    Hazard::new("reads_its_stack", &["cc -O2 -o program @reads_its_stack.c -lunwind"])
        .by_two()
        .variants(&[
            "/usr/include/x86_64-linux-gnu/libunwind.h: ",
            "/usr/include/x86_64-linux-gnu/libunwind.h: -O0",
        ])
        .says("195000, 30000 traces, 0 wrong\n")
        .also(|trial| {
            let messages = trial.recording.messages();
            assert!(messages.contains("libunwind shows return addresses"), "{messages}");
        }),
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
    // Where a stack is full of frames and the machine is busy, walks are cut.
    Hazard::new("short_stacks", &["cc -O2 -w -pthread -o program @short_stacks.c"])
        .by_two()
        .cut(&[Allowed { reason: PartialReason::TooDeep, per_thousand: 200 }])
        .variants(&["", "-O0", "-fcf-protection", "clang"])
        .says(
            "coroutine of 4 KiB: untouched\n\
             alternate stack of 8192: on it 40, untouched\n\
             suspended on it: came back 39, untouched\n\
             left by a jump: 100, untouched\n\
             main: overflowed 60\n\
             thread: overflowed 60\n\
             in a thread: untouched\n\
             threads of the smallest size\n",
        ),
    Hazard::new("smallest_threads", &["cc -O2 -w -pthread -o program @smallest_threads.c"])
        .by_two()
        .variants(&["", "-O0", "clang"])
        .says("20 children and 20 spawned of 20\n"),
    Hazard::new("executed_on_a_small_stack", SMALL_ENDS)
        .command(&["./program", "execute"])
        .says("reported\n"),
    Hazard::new("ended_on_a_small_stack", SMALL_ENDS)
        .command(&["./program", "end"])
        .ends(Ended::Status(3)),
    Hazard::new("executed_in_a_coroutine", SMALL_ENDS)
        .command(&["./program", "execute", "coroutine"])
        .says("reported\n"),
    Hazard::new("ended_in_a_coroutine", SMALL_ENDS)
        .command(&["./program", "end", "coroutine"])
        .ends(Ended::Status(3)),
    Hazard::new("alternate_rules", &["cc -O2 -w -pthread -o program @alternate_rules.c"])
        .by_two()
        .variants(&["", "-O0", "clang"])
        .says(ALTERNATE_RULES),
    Hazard::new("execute_only", &["cc -O2 -w -o program @execute_only.c"])
        .variants(&["", "-O0", "clang"])
        .says("hidden code: right 200 times\n"),
    Hazard::new("code_on_demand", &["cc -O2 -w -o program @code_on_demand.c"])
        .variants(&["", "-O0", "clang"])
        .says("hidden code: right 40 times\n"),
    Hazard::new("processor_state", &["cc -O2 -w -o program @processor_state.c"])
        .variants(&["", "clang"])
        .says(
            "alignment check: right, kept\n\
             direction: right, kept\n\
             MXCSR: right, kept\n\
             x87 control: right, kept\n\
             x87 stack: right, kept\n\
             vectors: right, kept\n\
             key: right, kept\n\
             read-only key: right, kept\n\
             handler: alignment check 1, rights 1, MXCSR 1f80\n\
             handler: alignment check 1, rights 1, MXCSR 1f80\n\
             handler: alignment check 1, rights 1, MXCSR 1f80\n",
        ),
    Hazard::new("split_stack", &["gcc -O2 -fsplit-stack -pthread -o program @split_stack.c"])
        .variants(&["", "-O0", "-s"])
        .says("12200 12200\n")
        .also(|trial| {
            let messages = trial.recording.messages();
            assert!(messages.contains("stacks are split"), "{messages}");
        }),
];

const SMALL_ENDS: &[&str] = &["cc -O2 -o program @small_ends.c"];
const ALTERNATE_RULES: &str = "\
start: 0, none of 0, flags 2; on own
handler: 1, flags 8000004, before 0, masks 110
USR1: 0, none of 0, flags 2; on own
after: 0, none of 0, flags 2; on own
set first 0 100: -1 Cannot allocate memory
set first 5 65536: -1 Invalid argument
set first 0 65536: 0 
set first 2 0: 0 
USR1: 0, none of 0, flags 2; on own
set third 0 65536: 0 
set in a handler: 0, none of 0, flags 2; on own
set first 0 65536: 0 
set first 1 65536: 0 
USR1: 0, first of 65536, flags 1; on first
handler: 1, flags 4, before 0, masks 110
USR2: 0, first of 65536, flags 0; on own
USR1: 0, first of 65536, flags 1; on first
USR2: 0, first of 65536, flags 1; on first
USR1 again: 0, first of 65536, flags 1; on first
handler: 1, flags 48000004, before 1, masks 110
USR1: 0, first of 65536, flags 1; on first
USR2: 0, first of 65536, flags 1; on first
USR1 again: 0, first of 65536, flags 1; on first
USR1: 0, first of 65536, flags 1; on first
set third 0 65536: -1 Operation not permitted
unchanged: 0, first of 65536, flags 0; on own
signal: before 1
leaves: 0, first of 65536, flags 1; on first
left: 0, first of 65536, flags 0; on own
reset 1
set second 80000000 65536: 0 
disarms: 0, second of 65536, flags 80000000; on own
USR1: 0, none of 0, flags 2; on second
disarms: 0, second of 65536, flags 80000000; on own
thread: 0, none of 0, flags 2; on own
USR1: 0, none of 0, flags 2; on own
set second 0 65536: 0 
USR1: 0, second of 65536, flags 1; on second
thread: 0, second of 65536, flags 0; on own
set first 0 65536: 0 
child: 0, first of 65536, flags 0; on own
USR1: 0, first of 65536, flags 1; on first
set second 0 65536: 0 
USR1: 0, second of 65536, flags 1; on second
after vfork: 0, first of 65536, flags 0; on own
handler: 1, flags 8000004, before 0, masks 110
USR2: 0, first of 65536, flags 1; on first
USR1: 0, first of 65536, flags 1; on first
clone: 0, none of 0, flags 2; on third
USR1: 0, none of 0, flags 2; on third
off 0
off: 0, none of 0, flags 2; on own
USR1: 0, none of 0, flags 2; on own
ignored, before 1
";

/// Kinds of code that calls generated code, is called by it, or is it.
const KINDS: [&str; 8] = [
    "burn_framed",
    "burn_plain",
    "burn_general",
    "burn_jumping",
    "burn_aligned",
    "burn_nested",
    "via_tight",
    "burn_unframed",
];

/// What generated code calls has its callers, and no others. Only of code whose frame nothing tells
/// from its caller's are samples partial.
fn generated_code_is_crossed(trial: &Trial<'_>) {
    let all = trial.recording.rows();
    let is_whole = |path: &str, function: &str| {
        let through = format!("through main > {path} >> {function}");
        let found = trial.recording.refined(&through).inclusive_of(function);
        assert_eq!(found, all.inclusive_of(function), "{function}:\n{all}");
    };
    for kind in ["framed", "plain", "general", "jumping"] {
        is_whole(&format!("via_{kind}"), &format!("burn_{kind}"));
    }
    is_whole("via_aligned > aligned", "burn_aligned");
    is_whole("via_nested >> inner", "burn_nested");
    // All kinds are met, and few samples are elsewhere in generated code. The kernel's ticks may
    // miss a kind in one recording, not in all.
    let mut met = KINDS.map(|_| 0);
    let least = if trial.is_fast() { 20 } else { 1 };
    let are_met = trial.in_one_of_three(|recording| {
        let rows = recording.rows();
        let found = KINDS.map(|kind| rows.inclusive_of(kind));
        let is_most = u128::from(found.iter().sum::<u64>()) * 2 > rows.base;
        met.iter_mut().zip(found).for_each(|(met, found)| *met += found);
        let few = rows.base / 100 + u128::from(recording.weight().max(2));
        is_most && met.iter().all(|met| *met >= least) && elsewhere(&rows) <= few
    });
    assert!(are_met, "{met:?}, {} elsewhere:\n{all}", elsewhere(&all));
    // Those of `burn_unframed`, and of the code that calls it.
    let unframed = all.inclusive_of("burn_unframed");
    let partial = trial.recording.samples().partial;
    let stray = trial.recording.weight().max(5);
    assert!(partial <= unframed + unframed / 10 + stray, "{partial} partial:\n{all}");
    assert!(partial >= unframed, "{partial} partial of {unframed}:\n{all}");
}

/// Samples of what computes in generated code, but where it is expected to.
fn elsewhere(rows: &Rows) -> u128 {
    let (mut path, mut elsewhere) = (Vec::new(), 0);
    for row in rows.iter() {
        path.truncate(row.depth);
        let is_expected = path.contains(&"via_tight") || path.contains(&"via_unframed");
        elsewhere += if row.module.is_none() && !is_expected { row.exclusive } else { 0 };
        path.push(row.function.as_str());
    }
    u128::from(elsewhere)
}
