//! What threads waited for, as the last frame of paths of elapsed time.

use csprof_tests::notes::skip;
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
    let recording = workshop.record(&["-e", "realtime@500"], &["./program", "page"]);
    let mut waits = vec![
        ("waits_futex", "futex"),
        ("waits_with_limit", "futex"),
        ("waits_read", "read"),
        ("waits_recvfrom", "recvfrom"),
        ("waits_ppoll", "ppoll"),
        ("waits_pselect6", "pselect6"),
        ("waits_epoll_pwait", "epoll_pwait"),
        ("waits_clock_nanosleep", "clock_nanosleep"),
    ];
    match recording.outcome.said().contains("no userfaultfd") {
        true => skip("named_waits", "no page can be waited for here"),
        false => waits.push(("waits_for_page", "page fault")),
    }
    for (function, call) in waits {
        let rows = below(&recording, function);
        let (all, named) = (rows.inclusive_of(function), rows.inclusive_of(&leaf(call)));
        // A wait lasts 75 periods; its partner may have been late, and so may the thread be that
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

/// The processor says of both that they go on with the same instruction.
#[test]
fn an_instruction_that_repeats_after_a_wait_is_no_page_fault() {
    let workshop = Workshop::new("repeated_copies");
    workshop.compile("cc -O2 -g -pthread -o program @named_waits.c");
    let recording = workshop.record(&["-e", "realtime@2000"], &["./program", "copies"]);
    let rows = below(&recording, "copies");
    assert!(rows.inclusive_of("copies") > 0, "{}", recording.rows());
    assert!(rows.iter().all(|row| row.kind != "wait"), "{rows}");
}

/// Short sleeps are over before a sample comes, which then meets what is at work.
#[test]
fn a_fault_after_a_wait_that_only_works_is_no_wait() {
    let workshop = Workshop::new("touched_pages");
    workshop.compile("cc -O2 -g -pthread -o program @named_waits.c");
    let recording = workshop.record(&["-e", "realtime@2000"], &["./program", "touches"]);
    let rows = below(&recording, "touches");
    assert!(rows.inclusive_of("touches") > 0, "{}", recording.rows());
    assert!(rows.iter().all(|row| row.kind != "wait"), "{rows}");
}

#[test]
fn what_computes_and_what_is_sampled_by_cpu_time_waits_for_nothing() {
    let workshop = Workshop::new("no_named_waits");
    workshop.compile("cc -O2 -g -pthread -o program @named_waits.c");
    let sources = ["-e", "cputime@1000", "-e", "realtime@500"];
    let recording = workshop.record(&sources, &["./program"]);
    // 100 ms of CPU time, of which on a busy machine much may have no sample by `cputime`, take at
    // least 50 periods of elapsed time.
    let elapsed = ["report", "--format", "json", "--metric", "realtime"];
    let elapsed = Rows::new(&recording.output(&elapsed));
    assert!(elapsed.inclusive_of("computes") >= 30, "{elapsed}");
    let rows = below(&recording, "computes");
    assert!(rows.iter().all(|row| row.kind != "wait"), "{rows}");
    let of_waits =
        ["report", "--format", "json", "--metric", "cputime", "--refine", "through kind:wait"];
    let rows = Rows::new(&recording.output(&of_waits));
    assert_eq!(rows.shown, 0, "{rows}");
}

/// A thread that was switched waited where it gave the processor away, in the call that it was in.
#[test]
fn context_switches_say_for_what_a_thread_waited() {
    let workshop = Workshop::new("switched_waits");
    workshop.compile("cc -O2 -g -pthread -o program @named_waits.c");
    let recording = workshop.record(&["-e", "context-switches@1"], &["./program", "page"]);
    if recording.messages().contains("is not sampled by context-switches") {
        return skip("switched_waits", "context switches cannot be sampled here");
    }
    // By the mode in which samples come, a wrapper makes the call with a mask or without.
    let waits: [(&str, &[&str]); 10] = [
        ("waits_futex", &["futex"]),
        ("waits_with_limit", &["futex"]),
        ("waits_read", &["read"]),
        ("waits_recvfrom", &["recvfrom"]),
        ("waits_ppoll", &["poll", "ppoll"]),
        ("waits_pselect6", &["pselect6"]),
        ("waits_epoll_pwait", &["epoll_wait", "epoll_pwait"]),
        ("waits_clock_nanosleep", &["clock_nanosleep"]),
        ("waits_wait4", &["wait4", "clock_nanosleep"]),
        ("waits_for_page", &["page fault"]),
    ];
    let mut found = 0;
    for (function, calls) in waits {
        let rows = below(&recording, function);
        let expected: Vec<String> = calls.iter().map(|call| leaf(call)).collect();
        let mut of_waits = rows.iter().filter(|row| row.function.starts_with("[waits: "));
        assert!(of_waits.all(|row| expected.contains(&row.function)), "{function}: {rows}");
        let named: u64 = expected.iter().map(|leaf| rows.inclusive_of(leaf)).sum();
        found += usize::from(named > 0);
    }
    // Who is also switched by others, on a busy machine, is not said to have waited.
    assert!(found >= waits.len() / 2, "{found}: {}", recording.rows());
    let computing = below(&recording, "computes");
    assert!(computing.iter().all(|row| row.kind != "wait"), "{computing}");
}
