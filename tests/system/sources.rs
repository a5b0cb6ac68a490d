//! Several sample sources in one run: each is a metric of the profile, and they do not mix.

use csprof_format::ids::{ProcessId, ThreadId};
use csprof_tests::binary::csprof;
use csprof_tests::notes::note;
use csprof_tests::recording::{Recording, in_one_of_three};
use csprof_tests::workshop::Workshop;

const COMPILE: &str = "cc -O1 -g -pthread -o program @compute_and_wait.c";

/// Turns of the program, the period of each source, and its samples in a turn of 50 ms.
const TURNS: u64 = 10;
const PERIOD_NS: u64 = 5_000_000;
const IN_A_TURN: u64 = 50_000_000 / PERIOD_NS;

fn record(test: &str, sources: &[&str], how: &str) -> Recording {
    let workshop = Workshop::new(test);
    workshop.compile(COMPILE);
    let options: Vec<&str> = sources.iter().flat_map(|source| ["-e", source]).collect();
    let recording = workshop.record(&options, &["./program", how]);
    assert_eq!(recording.outcome.said(), "done\n");
    assert!(recording.outcome.status.success());
    recording
}

fn sources(recording: &Recording) -> Vec<&str> {
    recording.profile.metrics().map(|metric| metric.source.as_str()).collect()
}

/// Samples of a metric on call paths through a function.
fn inclusive(recording: &Recording, metric: usize, function: &str) -> u64 {
    let profile = &recording.profile;
    let nodes = &profile.nodes;
    let of_metric = |node: usize| {
        let of = |samples: &[(u32, u64)]| {
            let at = samples.binary_search_by_key(&node, |&(at, _)| at as usize);
            at.map_or(0, |at| samples[at].1)
        };
        let further = profile.further.iter().map(|further| of(&further.samples));
        match metric.checked_sub(1) {
            Some(number) => of(&profile.further[number].samples),
            None => nodes.samples[node] - further.sum::<u64>(),
        }
    };
    let mut is_below = vec![false; nodes.len()];
    let mut sum = 0;
    for node in 0..nodes.len() {
        let mut functions = profile.sites.rows(nodes.frame[node]).map(|row| {
            let name = profile.functions[profile.sites.function[row].index()].name;
            &*profile.strings[name.index()]
        });
        is_below[node] =
            is_below[nodes.parent[node] as usize] || functions.any(|name| name == function);
        sum += if is_below[node] { of_metric(node) } else { 0 };
    }
    sum
}

/// CPU time is where it computes; elapsed time there and where it waits, for both take at least as
/// long. Returns whether enough CPU time is there, which samples that need the kernel's ticks may
/// fail on a busy machine: ticks miss some, and one that meets the handler of the other source in
/// the sleep brings all that none has met before.
fn are_in_places(recording: &Recording, threads: u64) -> bool {
    let at_least = threads * TURNS * IN_A_TURN;
    // A hypervisor that takes time from the machine makes a turn longer, as the clock says.
    let cpu_ns: u64 = recording.profile.threads.iter().map(|thread| thread.cpu_ns).sum();
    let at_most = at_least.max(cpu_ns / PERIOD_NS);
    let mut are_right = true;
    for (metric, source) in sources(recording).into_iter().enumerate() {
        let [computed, waited] =
            ["compute", "wait_a_while"].map(|function| inclusive(recording, metric, function));
        let what = format!("{source}: {computed} and {waited} in waits, of {at_least}");
        if source == "realtime" {
            assert!(computed.min(waited) >= at_least * 9 / 10, "{what}");
            continue;
        }
        assert!(computed <= at_most * 11 / 10, "{what}");
        let is_right = computed >= at_least * 6 / 10 && waited <= at_least / 10;
        if !is_right {
            note(&what);
        }
        assert!(is_right || source == "cputime", "{what}");
        are_right &= is_right;
    }
    are_right
}

/// What is recorded, until samples are [in their places](are_in_places).
fn in_places(test: &str, threads: u64, mut record: impl FnMut() -> Recording) -> Recording {
    let mut last = None;
    let are_right = in_one_of_three(test, || are_in_places(last.insert(record()), threads));
    let last = last.unwrap();
    assert!(are_right, "{}", last.rows());
    last
}

fn record_in_places(test: &str, sources: &[&str], how: &str) -> Recording {
    let threads = if how == "threads" { 2 } else { 1 };
    in_places(test, threads, || record(test, sources, how))
}

#[test]
fn computing_and_waiting() {
    let recording = record_in_places("sources_two", &["cputime", "realtime"], "plain");
    assert_eq!(sources(&recording), ["cputime", "realtime"]);
    // Each call was in samples, of whichever source.
    let rows = recording.rows();
    for function in ["compute", "wait_a_while"] {
        assert_eq!(rows.at(&["turns", function]).edges, Some(TURNS), "{rows}");
    }
    let thread = ThreadId::from_index(0);
    let [cpu, realtime] = [0, 1].map(|metric| recording.profile.share(thread, metric));
    let said = recording.outcome.complained();
    let counts = format!("{} samples of cputime, {} of realtime", cpu.recorded, realtime.recorded);
    assert!(said.contains(&counts), "{said}: {counts}");
}

/// The same numbers, whichever comes first.
#[test]
fn the_first_source_is_the_first_metric() {
    let recording = record_in_places("sources_order", &["realtime", "cputime"], "plain");
    assert_eq!(sources(&recording), ["realtime", "cputime"]);
}

#[test]
fn with_a_source_that_sends_another_signal() {
    let recording = record_in_places("sources_trap", &["task-clock@200", "realtime"], "plain");
    if sources(&recording)[0] != "task-clock" {
        note("task-clock was refused; cputime was sampled instead");
    }
    assert_eq!(sources(&recording)[1], "realtime");
}

#[test]
fn all_there_are() {
    let all = ["cputime", "task-clock@200", "realtime"];
    let recording = record_in_places("sources_all", &all, "plain");
    let found = sources(&recording);
    assert_eq!(found.last(), Some(&"realtime"));
    if found.len() < all.len() {
        let messages = recording.messages();
        assert!(messages.contains("sampling cputime only"), "{messages}");
        return;
    }
    assert_eq!(found, ["cputime", "task-clock", "realtime"]);
}

#[test]
fn of_threads() {
    let recording = record_in_places("sources_threads", &["cputime", "realtime"], "threads");
    assert_eq!(recording.profile.threads.len(), 3);
    // The main thread waits for the others.
    let main = ThreadId::from_index(0);
    let [cpu, realtime] = [0, 1].map(|metric| recording.profile.share(main, metric).recorded);
    assert!(cpu <= of_a_wait(realtime), "{cpu}, {realtime}");
    assert!(realtime >= TURNS * IN_A_TURN, "{cpu}, {realtime}");
}

/// Samples of CPU time that a thread has at most which does nothing but wait, and is sampled so
/// often meanwhile: a twentieth of its time.
fn of_a_wait(realtime: u64) -> u64 {
    TURNS.max(realtime / 20)
}

#[test]
fn of_a_forked_child() {
    let is_right = || {
        let recording = record("sources_fork", &["cputime", "realtime"], "fork");
        are_in_places(&recording, 1) & is_in_each_process(&recording)
    };
    assert!(in_one_of_three("sources_fork", is_right));
}

#[test]
fn of_a_program_that_executes_another() {
    let is_right = || is_in_each_process(&record("sources_exec", &["cputime", "realtime"], "exec"));
    assert!(in_one_of_three("sources_exec", is_right));
}

/// Every process of two has samples of elapsed time. Returns whether that has some of CPU time,
/// too, which computes, and hardly any that waits: see [`are_in_places`].
fn is_in_each_process(recording: &Recording) -> bool {
    let profile = &recording.profile;
    assert_eq!(profile.processes.len(), 2);
    let mut is_right = true;
    for process in (0..profile.processes.len()).map(ProcessId::from_index) {
        let (mut cpu, mut realtime) = (0, 0);
        for (number, thread) in profile.threads.iter().enumerate() {
            if thread.process == process {
                cpu += profile.share(ThreadId::from_index(number), 0).recorded;
                realtime += profile.share(ThreadId::from_index(number), 1).recorded;
            }
        }
        assert!(realtime >= TURNS * IN_A_TURN, "{process:?}: {cpu}, {realtime}");
        let waits_only =
            process.index() == 0 && profile.processes[0].command.ends_with(&[b"fork".into()]);
        let is_as_it_does = if waits_only { cpu <= of_a_wait(realtime) } else { cpu > TURNS };
        if !is_as_it_does {
            note(&format!("{process:?}: {cpu}, {realtime}"));
        }
        is_right &= is_as_it_does;
    }
    is_right
}

/// Signals of both are pending at the same time, and both arrive, each with its weight.
#[test]
fn that_were_held_up_together() {
    let workshop = Workshop::new("sources_late");
    workshop.compile("cc -O1 -g -o losses @losses.c");
    for mode in ["late", "blocked"] {
        let recording = workshop.record(&["-e", "cputime", "-e", "realtime"], &["./losses", mode]);
        let thread = ThreadId::from_index(0);
        let [cpu, realtime] = [0, 1].map(|metric| recording.profile.share(thread, metric).recorded);
        // 500 ms of CPU time, of 5 ms each, or what the clock says that it was; elapsed time is not
        // less.
        let at_most = (recording.profile.threads[0].cpu_ns / PERIOD_NS).max(100) * 11 / 10;
        assert!((90..=at_most).contains(&cpu), "{mode}: {cpu} samples of CPU time");
        assert!(realtime >= 90, "{mode}: {realtime} samples of elapsed time");
    }
}

#[test]
fn a_source_can_be_given_once() {
    let workshop = Workshop::new("sources_twice");
    let outcome = workshop.csprof(&["record", "-e", "cputime@100", "-e", "cputime", "--", "true"]);
    assert_eq!(outcome.status.code(), Some(2));
    let said = outcome.complained();
    assert!(said.contains("-e cputime was given twice"), "{said}");
}

/// Where perf events are forbidden, what takes the place of `task-clock` is not sampled twice.
#[test]
fn one_that_is_refused_beside_what_would_replace_it() {
    let workshop = Workshop::new("sources_refused");
    workshop.compile(COMPILE);
    workshop.compile("cc -O2 -o forbidding @forbidding.c");
    for (asked, used) in [
        (["task-clock", "cputime", "realtime"], &["cputime", "realtime"][..]),
        (["realtime", "task-clock", "cputime"], &["realtime", "cputime"]),
    ] {
        let mut words = vec!["./forbidding", "perf", csprof().to_str().unwrap(), "record", "-f"];
        words.extend(["-o", "run.csprof"]);
        words.extend(asked.iter().flat_map(|source| ["-e", source]));
        words.extend(["--", "./program", "plain"]);
        let recording = in_places("sources_refused", 1, || {
            Recording::new(workshop.run(&words), workshop.path("run.csprof"))
        });
        assert_eq!(recording.outcome.said(), "done\n");
        assert_eq!(sources(&recording), used);
        let messages = recording.messages();
        assert!(messages.contains("sampling cputime only"), "{messages}");
        assert_eq!(recording.info["warnings"].as_array().unwrap().len(), 0, "{}", recording.info);
    }
}
