//! Events of the kernel's and the processor's, in programs that meet a known number of them.
//!
//! Software events are there wherever perf events are permitted; what a machine lacks or forbids is
//! skipped visibly.

use csprof_tests::notes::skip;
use csprof_tests::paths::Rows;
use csprof_tests::recording::Recording;
use csprof_tests::workshop::Workshop;

fn workshop(test: &str) -> Workshop {
    let workshop = Workshop::new(test);
    workshop.compile("cc -O1 -g -pthread -o program @kernel_events.c");
    workshop
}

/// The run, if the machine permits these sources.
fn record(test: &str, workshop: &Workshop, sources: &[&str], words: &[&str]) -> Option<Recording> {
    let options: Vec<&str> = sources.iter().flat_map(|source| ["-e", source]).collect();
    let probe = [&["record", "-f", "-o", "probe.csprof"][..], &options, &["true"]].concat();
    let outcome = workshop.csprof(&probe);
    if outcome.status.code() == Some(125) {
        let said = outcome.complained();
        assert!(said.contains("it cannot be sampled"), "{said}");
        let prepared = workshop.csprof(&[&["prepare"][..], &options, &["--", "true"]].concat());
        assert!(prepared.complained().contains("it cannot be sampled"), "{said}");
        skip(test, said.trim());
        return None;
    }
    let recording = workshop.record(&options, words);
    assert!(recording.outcome.status.success(), "{}", recording.outcome.complained());
    assert!(recording.outcome.said().ends_with("done\n"), "{}", recording.outcome.said());
    Some(recording)
}

/// Page faults, by the first metric, of pages that are touched on behalf of this function.
fn touched(recording: &Recording, function: &str) -> u64 {
    let rows = recording.refined(&format!("through {function}"));
    rows.inclusive_of("touch") * recording.profile.metric.period
}

#[test]
fn page_faults_are_where_pages_are_touched() {
    const TEST: &str = "event_page_faults";
    const RUNS: u64 = 10;
    // No whole periods of 100.
    const FEW: u64 = 3_950;
    let workshop = workshop(TEST);
    let (mut few, mut many) = (0, 0);
    for _ in 0..RUNS {
        let words = ["./program", "faults", &FEW.to_string()];
        let Some(run) = record(TEST, &workshop, &["page-faults@100"], &words) else { return };
        assert_eq!(run.profile.metric.unit, "page-faults");
        few += touched(&run, "few");
        many += touched(&run, "many");
        assert_eq!(run.rows().at(&["many", "fresh"]).edges, Some(3));
    }
    // Each run may have a period more or less at either end, and the collector's own faults, which
    // are subtracted, may leave the last one unfinished: of `many`, two of 118 at most. Of `few` a
    // run shows 39 or 40 periods, half of one off, so that one for each run is twice that.
    assert!(few.abs_diff(RUNS * FEW) <= 10 * 100, "{few}");
    assert!(many.abs_diff(RUNS * FEW * 3) <= RUNS * FEW * 3 / 50, "{many}");
}

#[test]
fn each_page_fault_is_a_sample_and_none_is_the_collector_s() {
    const TEST: &str = "event_each_page_fault";
    let workshop = workshop(TEST);
    let words = ["./program", "faults", "1000"];
    let Some(run) = record(TEST, &workshop, &["page-faults@1"], &words) else { return };
    assert_eq!(touched(&run, "few"), 1_000);
    assert_eq!(touched(&run, "many"), 3_000);
}

/// The samples of all frames of the kernel's, and their names.
fn in_kernel(rows: &Rows) -> (u64, Vec<String>) {
    let of_kernel: Vec<_> = rows.iter().filter(|row| row.kind == "kernel").collect();
    let names = of_kernel.iter().map(|row| row.function.clone()).collect();
    (of_kernel.iter().map(|row| row.inclusive).sum(), names)
}

/// Whether the kernel says to csprof where its functions are.
fn shows_functions() -> bool {
    let text = std::fs::read_to_string("/proc/kallsyms").unwrap_or_default();
    text.lines().any(|line| !line.starts_with("0000000000000000"))
}

#[test]
fn a_page_fault_in_the_kernel_is_below_the_code_that_entered_it() {
    const TEST: &str = "event_kernel_places";
    let workshop = workshop(TEST);
    let words = ["./program", "reads", "1000"];
    let Some(run) = record(TEST, &workshop, &["page-faults:k@1"], &words) else { return };
    let (samples, names) = in_kernel(&run.refined("through portions"));
    assert_eq!(samples, 1_000, "{}", run.rows());
    let are_named = |names: &[String]| {
        names.iter().all(|name| match shows_functions() {
            true => name.starts_with("[kernel] ") && !name.contains("0x"),
            false => name == "[kernel]",
        })
    };
    assert!(are_named(&names), "{names:?}");
    // All in one call: of the last 64 it is known.
    let at_once = run.refined("through at_once");
    assert_eq!(at_once.inclusive_of("at_once"), 1_000, "{at_once}");
    let (samples, names) = in_kernel(&at_once);
    assert!((64..1_000).contains(&samples) && are_named(&names), "{at_once}");
    assert!(run.messages().contains("page of records has room for (64)"), "{}", run.messages());

    // What the program touches itself is there, and not in the kernel.
    let words = ["./program", "faults", "100"];
    let Some(run) = record(TEST, &workshop, &["page-faults:k@1"], &words) else { return };
    assert_eq!(touched(&run, "few"), 100);
    let (samples, _) = in_kernel(&run.refined("through touch"));
    assert_eq!(samples, 0, "{}", run.rows());
}

/// Below what it waited for, if that is known, and only where that is asked for.
#[test]
fn a_context_switch_says_where_the_kernel_gave_the_processor_away() {
    const TEST: &str = "event_kernel_switches";
    let workshop = workshop(TEST);
    let words = ["./program", "naps", "50"];
    for (source, is_asked_for) in [("context-switches:k@1", true), ("context-switches@1", false)] {
        let Some(run) = record(TEST, &workshop, &[source], &words) else { return };
        if run.messages().contains("may come by SIGTRAP alone") {
            return skip(TEST, "SIGTRAP cannot be lent here");
        }
        let rows = run.refined("through nap");
        let (samples, _) = in_kernel(&rows);
        assert_eq!(samples, if is_asked_for { rows.inclusive_of("nap") } else { 0 }, "{rows}");
        assert!(rows.inclusive_of("[waits: clock_nanosleep]") > 0, "{rows}");
    }
}

#[test]
fn threads_that_have_less_than_a_period_have_their_share() {
    const TEST: &str = "event_short_threads";
    let workshop = workshop(TEST);
    let words = ["./program", "threads", "50"];
    let Some(run) = record(TEST, &workshop, &["page-faults@100"], &words) else { return };
    // 60 threads with half a period each: 30 samples, give or take five times the square root of
    // 60 / 4.
    let mut samples = 0;
    for row in 0..run.profile.threads.len() {
        samples += u64::from(row > 0) * run.profile.threads[row].recorded;
    }
    assert!((11..=60).contains(&samples), "{samples}");
}

#[test]
fn context_switches_are_where_threads_wait() {
    const TEST: &str = "event_context_switches";
    let workshop = workshop(TEST);
    let words = ["./program", "naps", "200"];
    let sources = ["context-switches@1", "cputime"];
    let Some(run) = record(TEST, &workshop, &sources, &words) else { return };
    if run.messages().contains("may come by SIGTRAP alone") {
        return skip(TEST, "SIGTRAP cannot be lent here");
    }
    let said = run.outcome.said();
    let words = said.split([' ', ',', '\n']);
    let numbers: Vec<u64> = words.filter_map(|word| word.parse().ok()).collect();
    let [waited, lost] = numbers[..] else { panic!("{said}") };
    // On a busy machine one of some thousand naps is over before the processor is given up.
    assert!(waited >= 190, "{said}");
    // Up to five of the waits that the kernel counted may be outside of the naps.
    let least = waited.min(200) - 5;
    let rows = run.rows();
    let nap = rows.at(&["naps", "nap"]);
    assert!((least..=200).contains(&nap.edges.unwrap()), "{said}{rows}");
    assert!((least..=waited.max(200) + lost).contains(&nap.inclusive), "{said}{rows}");
}

/// The sample of a wait is sent when the wait is over: here behind a filter that ends the process
/// when a handler returns.
#[test]
fn a_sample_that_is_under_way_ends_no_process_whose_handlers_cannot_return() {
    const TEST: &str = "event_forbidden_return";
    let workshop = Workshop::new(TEST);
    workshop.compile("cc -O2 -pthread -o program @forbidden_return.c");
    let Some(run) = record(TEST, &workshop, &["context-switches@1"], &["./program", "4"]) else {
        return;
    };
    assert_eq!(run.outcome.said(), "3\n3\n3\n3\ndone\n");
}

/// The event is opened anew when its first period has ended.
#[test]
fn a_word_is_said_of_an_event_that_cannot_go_on() {
    const TEST: &str = "event_no_files";
    let workshop = workshop(TEST);
    let words = ["./program", "no_files", "20000"];
    // In one run of hundreds, the period ends before the program begins.
    let is_told = || {
        let run = record(TEST, &workshop, &["page-faults@50000"], &words)?;
        Some(run.messages().contains("a thread is not sampled any more: error 24"))
    };
    let Some(is_told_at_once) = is_told() else { return };
    assert!(is_told_at_once || is_told() == Some(true));
}

#[test]
fn children_and_closed_files_change_nothing() {
    const TEST: &str = "event_children";
    let workshop = workshop(TEST);
    let words = ["./program", "children", "2000"];
    let sources = ["page-faults@10", "cputime", "context-switches@1"];
    let Some(run) = record(TEST, &workshop, &sources, &words) else { return };
    let pages = touched(&run, "few");
    assert!(pages.abs_diff(3 * 2_000) <= 3 * 2 * 10, "{pages}");
}

/// It has none of its parent's pages.
#[test]
fn a_child_forked_by_hand_is_left_alone() {
    const TEST: &str = "event_by_hand";
    let workshop = workshop(TEST);
    let words = ["./program", "by_hand", "500"];
    let Some(run) = record(TEST, &workshop, &["page-faults@3", "cputime"], &words) else { return };
    assert!(run.outcome.said().starts_with("child ended with 1792\n"), "{}", run.outcome.said());
    let pages = touched(&run, "few");
    assert!(pages.abs_diff(500) <= 2 * 3, "{pages}");
}

/// What takes SIGTRAP has it; page faults come by another signal then, and what would end waits
/// ends itself.
#[test]
fn a_program_that_uses_sigtrap_keeps_it() {
    const TEST: &str = "event_trap";
    let workshop = workshop(TEST);
    let words = ["./program", "trap", "2000"];
    let sources = ["page-faults@10", "context-switches@1"];
    let Some(run) = record(TEST, &workshop, &sources, &words) else { return };
    assert!(run.outcome.said().starts_with("trapped 1\n"), "{}", run.outcome.said());
    let pages = touched(&run, "few");
    assert!(pages.abs_diff(2_000) <= 2 * 10, "{pages}");
    let messages = run.messages();
    assert!(messages.contains("SIGTRAP"), "{messages}");
    let switches = run.profile.further[0].samples.iter().map(|(_, samples)| samples).sum::<u64>();
    assert!(switches < 40, "{switches}");
}

#[test]
fn instructions_of_a_known_loop() {
    const TEST: &str = "event_instructions";
    let workshop = workshop(TEST);
    let words = ["./program", "loop", "2500000000"];
    let Some(run) = record(TEST, &workshop, &["instructions@10M"], &words) else { return };
    let instructions = run.rows().inclusive_of("loop") * run.profile.metric.period;
    assert!(instructions.abs_diff(5_000_000_000) <= 50_000_000, "{instructions}");
}

#[test]
fn the_machine_s_events_are_listed() {
    let workshop = Workshop::new("events_listed");
    let outcome = workshop.csprof(&["events"]);
    assert!(outcome.status.success(), "{}", outcome.complained());
    let said = outcome.said();
    for group in ["csprof's own sources\n", "software", "hardware", "caches", "tracepoints"] {
        assert!(said.lines().any(|line| line.starts_with(group.trim_end())), "{group}: {said}");
    }
    let outcome = workshop.csprof(&["events", "--format", "json", "page-f*"]);
    let listed: serde_json::Value = serde_json::from_str(&outcome.said()).unwrap();
    assert_eq!(listed[0]["name"], "page-faults");
    assert_eq!(listed[0]["available"] == true, listed[0]["why_not"].is_null());
    assert_eq!(listed.as_array().unwrap().len(), 1);
}
