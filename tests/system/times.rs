//! When samples were taken: what came before what, and that no time is made up.

use csprof_format::profile::SampleTime;
use csprof_tests::hazard::Hazard;
use csprof_tests::hazards;
use csprof_tests::notes::skip;
use csprof_tests::recording::Recording;
use csprof_tests::workshop::Workshop;

fn workshop(test: &str) -> Workshop {
    let workshop = Workshop::new(test);
    workshop.compile("cc -O1 -g -pthread -o phases @phases.c");
    workshop
}

/// Times of samples on call paths through a function.
fn times<'r>(recording: &'r Recording, function: &str) -> Vec<&'r SampleTime> {
    let profile = &recording.profile;
    let nodes = &profile.nodes;
    let mut is_below = vec![false; nodes.len()];
    for node in 0..nodes.len() {
        let mut functions = profile.sites.rows(nodes.frame[node]).map(|row| {
            let name = profile.functions[profile.sites.function[row].index()].name;
            &*profile.strings[name.index()]
        });
        let above = nodes.parent[node] as usize;
        is_below[node] = is_below[above] || functions.any(|name| name == function);
    }
    profile.times.iter().filter(|row| is_below[row.node as usize]).collect()
}

/// Samples that have a time, of all that there are.
fn timed(recording: &Recording) -> (u64, u64) {
    let timed = recording.profile.times.iter().map(|row| u64::from(row.samples)).sum();
    (timed, recording.samples().recorded)
}

fn check_order(what: &str, first: &[&SampleTime], second: &[&SampleTime]) {
    let last = first.iter().map(|row| row.time_us).max();
    let begin = second.iter().map(|row| row.time_us).min();
    assert!(begin.is_none() || last <= begin, "{what}: {last:?}, then {begin:?}");
}

#[test]
fn phases_come_one_after_the_other() {
    let workshop = workshop("times_phases");
    for (mode, status, paths) in
        [("", 0, 1), ("threads", 0, 3), ("fork", 0, 1), ("exec", 0, 1), ("kill", 128 + 9, 1)]
    {
        // Its samples come when they are due.
        let options = ["--times", "-e", "task-clock@200"];
        let recording = workshop.record(&options, &["./phases", "300", mode]);
        assert_eq!(recording.outcome.status.code(), Some(status), "{mode}");
        let (timed, recorded) = timed(&recording);
        assert_eq!(timed, recorded, "{mode}");
        let [first, second] = ["first", "second"].map(|name| times(&recording, name));
        let samples =
            |rows: &[&SampleTime]| rows.iter().map(|row| u64::from(row.samples)).sum::<u64>();
        // 300 ms of 5 ms each, and as many as the kernel's clock sees.
        for rows in [&first, &second] {
            assert!(samples(rows) >= 30 * paths, "{mode}: {} samples", samples(rows));
        }
        check_order(mode, &first, &second);
        let end_us = recording.profile.run.duration_ns / 1000;
        let latest = recording.profile.times.iter().map(|row| row.time_us).max();
        assert!(latest <= Some(end_us), "{mode}: {latest:?} in a run of {end_us}");
    }
}

#[test]
fn without_the_option_there_are_no_times() {
    let workshop = workshop("times_none");
    let recording = workshop.record(&[], &["./phases", "50"]);
    assert!(recording.profile.times.is_empty());
    assert!(!recording.messages().contains("have no time"));
}

#[test]
fn several_sources_have_times() {
    let workshop = workshop("times_sources");
    let options = ["--times", "-e", "cputime@200", "-e", "realtime@200"];
    let recording = workshop.record(&options, &["./phases", "200", "threads"]);
    let (timed, recorded) = timed(&recording);
    assert_eq!(timed, recorded);
    let of_both = ["first", "second"].map(|name| times(&recording, name));
    for metric in 0..2 {
        assert!(recording.profile.times.iter().any(|row| row.metric == metric), "{metric}");
        let [first, second] = of_both.each_ref().map(|rows| {
            let of_metric = rows.iter().copied().filter(|row| row.metric == metric);
            of_metric.collect::<Vec<_>>()
        });
        // Elapsed time needs no ticks of the kernel's.
        assert!(metric == 0 || !first.is_empty() && !second.is_empty(), "{first:?}, {second:?}");
        check_order(&format!("metric {metric}"), &first, &second);
    }
}

/// Beyond the limit samples are counted as ever, and the profile says how many have no time.
#[test]
fn the_limit_costs_times_alone() {
    let workshop = workshop("times_limit");
    let options = ["--times=64k", "-e", "task-clock@20000"];
    let recording = workshop.record(&options, &["./phases", "400"]);
    let (timed, recorded) = timed(&recording);
    if recorded < 5_000 {
        return skip("the_limit_costs_times_alone", "few samples come without perf events");
    }
    // 64 KiB of 16 bytes for each time, which late samples have in common.
    let rows = recording.profile.times.len();
    assert!((1_000..=4096).contains(&rows), "{rows} of {timed} of {recorded}");
    let told = format!("{} of {recorded} samples have no time", recorded - timed);
    assert!(recording.profile.run.warnings.iter().any(|warning| warning.starts_with(&told)));
    assert_eq!(recording.samples().delivered, recorded, "none is lost for that");
}

/// What is done with extents of times where threads, processes and memory come and go.
#[test]
fn hazards_are_none_with_times() {
    const NAMES: [&str; 8] = [
        "thread_storm",
        "fork_chain",
        "forks",
        "fork_in_thread",
        "exec_among_threads",
        "sandbox_by_prctl",
        "sandbox_strict",
        "raw_threads",
    ];
    let mut seen = 0;
    for hazard in hazards::all().filter(|hazard| NAMES.contains(&hazard.name)) {
        let options: &'static [&'static str] = [hazard.options, &["--times"]].concat().leak();
        let hazard = Hazard { options, ..*hazard };
        let Some(program) = hazard.build("times", 0) else { continue };
        for source in csprof_tests::hazard::SOURCES {
            let recording = program.record(source);
            let (timed, recorded) = timed(&recording);
            assert!(timed <= recorded);
        }
        seen += 1;
    }
    assert!(seen > 0, "none of them is known");
}
