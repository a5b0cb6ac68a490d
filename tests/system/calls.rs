//! Calls that are counted, by `-e yields`: as many samples as calls, each of the path that made it.

use csprof_format::ids::ThreadId;
use csprof_format::profile::Profile;
use csprof_tests::paths::{Row, Rows};
use csprof_tests::recording::{Recording, in_one_of_three};
use csprof_tests::workshop::Workshop;

/// What the program does.
const TURNS: u64 = 40;
const OFTEN: u64 = 7;
const TAILS: u64 = 9;
const RAISES: u64 = 5;
const IN_TURNS: u64 = TURNS * (OFTEN + 1);

fn record(test: &str, sources: &[&str], how: &str) -> Recording {
    let workshop = Workshop::new(test);
    workshop.compile("cc -O2 -g -pthread -o yields @yields.c");
    let options: Vec<&str> = sources.iter().flat_map(|source| ["-e", source]).collect();
    let alone = workshop.run(&["./yields", how]);
    let recording = workshop.record(&options, &["./yields", how]);
    assert_eq!(recording.outcome.said(), alone.said());
    assert_eq!(recording.outcome.status.code(), Some(3));
    assert_eq!(alone.status.code(), Some(3));
    check_metrics(&recording, sources);
    check_that_no_path_has_csprof(&recording);
    recording
}

fn check_metrics(recording: &Recording, sources: &[&str]) {
    let metrics = recording.profile.metrics();
    let found: Vec<_> = metrics.map(|metric| (&*metric.source, &*metric.unit)).collect();
    let expected: Vec<_> = sources
        .iter()
        .map(|source| source.split('@').next().unwrap())
        .map(|name| (name, if name == "yields" { "calls" } else { "ns" }))
        .collect();
    assert_eq!(found, expected);
    assert_eq!(recording.info["samples"]["lost"].as_u64().unwrap_or(0), 0, "{}", recording.info);
}

/// None that has samples of calls. A sample of time may be taken in the wrapper.
fn check_that_no_path_has_csprof(recording: &Recording) {
    let profile = &recording.profile;
    let nodes = &profile.nodes;
    for node in 0..nodes.len() {
        let further = profile.further.iter().map(|further| {
            let at = further.samples.binary_search_by_key(&(node as u32), |&(at, _)| at);
            (&further.metric.source, at.map_or(0, |at| further.samples[at].1))
        });
        let first = nodes.samples[node] - further.clone().map(|(_, samples)| samples).sum::<u64>();
        let mut metrics = further.chain([(&profile.metric.source, first)]);
        if !metrics.any(|(source, samples)| source == "yields" && samples > 0) {
            continue;
        }
        // The root of a tree is its own caller.
        let caller = |&node: &usize| Some(nodes.parent[node] as usize).filter(|at| *at != node);
        for (depth, node) in std::iter::successors(Some(node), caller).enumerate() {
            let module = profile.frames[nodes.frame[node].index()].module;
            let path = module.map_or("", |module| module_path(profile, module.index()));
            assert!(!path.contains("libcsprof"), "{path}");
            assert!(depth > 0 || path.ends_with("/yields"), "{path}");
        }
    }
}

fn module_path(profile: &Profile, module: usize) -> &str {
    &profile.strings[profile.modules[module].path.index()]
}

/// Samples and returns of the turns, made so many times by one path.
fn check_turns(rows: &Rows, times: u64) {
    let counts = |row: &Row| (row.exclusive, row.edges);
    let calls = TURNS * times;
    assert_eq!(counts(rows.at(&["turns", "often"])), (calls * OFTEN, Some(calls)), "{rows}");
    assert_eq!(counts(rows.at(&["turns", "seldom"])), (calls, Some(calls)), "{rows}");
}

#[test]
fn are_counted_by_path() {
    for (test, sources) in
        [("calls_alone", &["yields@1"][..]), ("calls_and_time", &["yields@1", "cputime@1000"])]
    {
        let recording = record(test, sources, "plain");
        let rows = recording.rows();
        check_turns(&rows, 1);
        let tail = rows.at(&["tails", "tail"]);
        assert_eq!((tail.exclusive, tail.edges), (TAILS, Some(TAILS)), "{rows}");
        assert_eq!(rows.at(&["main", "tails"]).exclusive, TAILS, "{rows}");
        assert_eq!(rows.inclusive_of("on_signal"), RAISES, "{rows}");
        assert_eq!(rows.shown, u128::from(IN_TURNS + 2 * TAILS + RAISES), "{rows}");
        let text = recording.output(&["report"]);
        assert!(text.contains("calls"), "{text}");
        let info = recording.output(&["info"]);
        assert!(!info.contains(" ns of"), "{info}");
    }
}

#[test]
fn beside_time_leave_it_alone() {
    // A busy machine may have no tick for the program, or one in another function.
    let has_time = || {
        let recording = record("calls_beside_time", &["cputime@1000", "yields@1"], "plain");
        let main = ThreadId::from_index(0);
        let [cpu, calls] = [0, 1].map(|metric| recording.profile.share(main, metric));
        assert_eq!(calls.recorded, IN_TURNS + 2 * TAILS + RAISES);
        assert_eq!((calls.partial, calls.signals), (0, 0));
        cpu.recorded > 10 && recording.rows().inclusive_of("compute") * 2 > cpu.recorded
    };
    assert!(in_one_of_three("calls_beside_time", has_time));
}

#[test]
fn of_which_each_tenth_is_sampled() {
    let recording = record("calls_tenth", &["yields@10"], "plain");
    let made = IN_TURNS + 2 * TAILS + RAISES;
    let recorded = recording.samples().recorded;
    assert!((made / 10..=made / 10 + 1).contains(&recorded), "{recorded}");
    assert_eq!(recording.info["sources"][0]["period"], 10);
}

#[test]
fn of_threads() {
    let recording = record("calls_threads", &["yields@1", "cputime@1000"], "threads");
    check_turns(&recording.rows(), 2);
    let calls = |thread| recording.profile.share(ThreadId::from_index(thread), 0).recorded;
    assert_eq!([0, 1, 2].map(calls), [0, IN_TURNS, IN_TURNS]);
}

#[test]
fn of_a_forked_child() {
    let recording = record("calls_fork", &["yields@1", "cputime@1000"], "fork");
    assert_eq!(recording.profile.processes.len(), 2);
    check_turns(&recording.rows(), 2);
    let calls = |thread| recording.profile.share(ThreadId::from_index(thread), 0).recorded;
    assert_eq!([0, 1].map(calls), [IN_TURNS, IN_TURNS]);
}

#[test]
fn of_a_child_with_its_parents_memory_are_not_the_parents() {
    let recording = record("calls_vfork", &["yields@1"], "vfork");
    check_turns(&recording.rows(), 1);
    assert_eq!(recording.samples().recorded, IN_TURNS);
}

/// It has the parent's thread-local storage, too, and counts there.
#[test]
fn of_a_child_that_shares_its_parents_storage_are_left_alone() {
    let recording = record("calls_clone", &["yields@1"], "clone");
    let rows = recording.rows();
    check_turns(&rows, 1);
    assert_eq!(rows.inclusive_of("child_of_clone"), 0, "{rows}");
}

/// A sample needs more than the stack has that the call is made on.
#[test]
fn on_a_short_stack() {
    let recording = record("calls_stacks", &["yields@1"], "stacks");
    let rows = recording.rows();
    for (function, calls) in [("often", TURNS * OFTEN), ("seldom", TURNS)] {
        assert_eq!(rows.inclusive_of(function), calls, "{rows}");
    }
}
