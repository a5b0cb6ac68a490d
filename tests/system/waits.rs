//! What threads waited for, as the last frame of paths of elapsed time.

use csprof_tests::paths::Rows;
use csprof_tests::recording::Recording;
use csprof_tests::workshop::Workshop;

fn below(recording: &Recording, function: &str) -> Rows {
    let through = format!("through {function}");
    Rows::new(&recording.output(&["report", "--format", "json", "--refine", &through]))
}

#[test]
fn the_last_frame_of_a_wait_says_for_what() {
    let workshop = Workshop::new("named_waits");
    workshop.compile("cc -O2 -g -pthread -o program @named_waits.c");
    let recording = workshop.record(&["-e", "realtime@500"], &["./program"]);
    let waits = [
        ("waits_futex", "futex"),
        ("waits_with_limit", "futex"),
        ("waits_read", "read"),
        ("waits_recvfrom", "recvfrom"),
        ("waits_ppoll", "ppoll"),
        ("waits_pselect6", "pselect6"),
        ("waits_epoll_pwait", "epoll_pwait"),
        ("waits_clock_nanosleep", "clock_nanosleep"),
    ];
    for (function, call) in waits {
        let rows = below(&recording, function);
        let (all, named) = (rows.inclusive_of(function), rows.inclusive_of(&leaf(call)));
        // A wait lasts 25 periods; its partner may have been late, and so may the thread be that
        // was given what it waited for.
        assert!(all >= 5 && named * 2 > all, "{function}: {named} of {all}: {rows}");
        let mut of_waits = rows.iter().filter(|row| row.function.starts_with("[waits: "));
        assert!(of_waits.all(|row| (&*row.kind, row.edges) == ("wait", None)), "{rows}");
    }
    // The child of that has paths below it, too.
    let rows = below(&recording, "waits_wait4");
    assert!(rows.inclusive_of(&leaf("wait4")) >= 5, "{rows}");
}

fn leaf(call: &str) -> String {
    format!("[waits: {call}]")
}

#[test]
fn what_computes_and_what_is_sampled_by_cpu_time_waits_for_nothing() {
    let workshop = Workshop::new("no_named_waits");
    workshop.compile("cc -O2 -g -pthread -o program @named_waits.c");
    let sources = ["-e", "cputime@1000", "-e", "realtime@500"];
    let recording = workshop.record(&sources, &["./program"]);
    let rows = below(&recording, "computes");
    assert!(rows.inclusive_of("computes") >= 30, "{rows}");
    assert!(rows.iter().all(|row| row.kind != "wait"), "{rows}");
    let of_waits =
        ["report", "--format", "json", "--metric", "cputime", "--refine", "through kind:wait"];
    let rows = Rows::new(&recording.output(&of_waits));
    assert_eq!(rows.shown, 0, "{rows}");
}
