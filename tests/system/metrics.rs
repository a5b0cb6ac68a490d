//! Reports and exports of several metrics of one run: what each form says of a metric is the same,
//! and it adds up.

use std::collections::BTreeMap;

use csprof_tests::installed::are_installed;
use csprof_tests::recording::{Recording, in_one_of_three};
use csprof_tests::workshop::Workshop;
use serde_json::Value;

const BOTH: &[&str] = &["-e", "cputime", "-e", "realtime@100"];
const METRICS: [&str; 2] = ["cputime", "realtime"];

fn report(recording: &Recording, options: &[&str]) -> Value {
    let arguments = [&["report", "--format", "json"], options].concat();
    serde_json::from_str(&recording.output(&arguments)).unwrap()
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("no number: {value}"))
}

/// Samples of each metric: all there are, from the file.
fn samples(recording: &Recording) -> [u64; 2] {
    let profile = &recording.profile;
    let all: u64 = profile.threads.iter().map(|thread| thread.recorded).sum();
    let [further] = &profile.further[..] else { panic!("not two metrics") };
    let realtime = further.threads.iter().map(|share| share.recorded).sum();
    [all - realtime, realtime]
}

/// Reports by views, exports and comparisons agree.
fn check(recording: &Recording) {
    let samples = samples(recording);
    let periods = METRICS.map(|name| {
        let metric = recording.profile.metrics().find(|metric| metric.source == name);
        metric.unwrap().period
    });
    let of_all = |report: &Value| {
        let rows = report["rows"].as_array().unwrap();
        let of = |name: &str, cost: &str| -> u64 {
            rows.iter().map(|row| number(&row["metrics"][name][cost])).sum()
        };
        METRICS.map(|name| (of(name, "exclusive"), of(name, "inclusive")))
    };
    for options in [&["--view", "top-down"][..], &["--view", "flat"], &["--view", "tables"]] {
        let report = report(recording, options);
        for (place, name) in METRICS.into_iter().enumerate() {
            let metric = &report["metrics"][place];
            assert_eq!(metric["name"], name);
            for key in ["base", "shown"] {
                assert_eq!(number(&metric[key]), samples[place], "{key} of {name}");
            }
            assert_eq!(of_all(&report)[place].0, samples[place], "{options:?}: {name}");
        }
    }
    // Threads have inclusive samples alone; each is counted with its process, too.
    let threads = report(recording, &["--view", "threads", "--depth", "1"]);
    for row in threads["rows"].as_array().unwrap() {
        assert_eq!(row["inclusive"], row["metrics"]["cputime"]["inclusive"]);
    }
    let of = |name: &str| -> u64 {
        let rows = threads["rows"].as_array().unwrap().iter();
        rows.map(|row| number(&row["metrics"][name]["inclusive"])).sum()
    };
    assert_eq!(METRICS.map(of), samples);

    // A metric that is looked at is what it was beside the other one.
    let beside = report(recording, &[]);
    for (place, name) in METRICS.into_iter().enumerate() {
        let looked_at = report(recording, &["--metric", name]);
        assert_eq!(looked_at["metric"], name);
        assert_eq!(number(&looked_at["shown"]), samples[place] * periods[place]);
        let paths = |report: &Value, cost: &dyn Fn(&Value) -> u64| {
            let mut path: Vec<String> = Vec::new();
            let rows = report["rows"].as_array().unwrap().iter();
            let by_path = rows.map(|row| {
                path.truncate(usize::try_from(number(&row["depth"])).unwrap());
                path.push(format!("{} {} {}", row["function"], row["module"], row["kind"]));
                (path.clone(), cost(row))
            });
            by_path.collect::<BTreeMap<_, _>>()
        };
        assert_eq!(
            paths(&looked_at, &|row| number(&row["inclusive"])),
            paths(&beside, &|row| number(&row["metrics"][name]["inclusive"]) * periods[place])
        );
        let folded = recording.output(&["export", "--format", "folded", "--metric", name]);
        let count = |line: &str| line.rsplit(' ').next().unwrap().parse::<u64>().unwrap();
        assert_eq!(folded.lines().map(count).sum::<u64>(), samples[place] * periods[place]);
    }
    let csv = recording.output(&["report", "--format", "csv", "--limit", "1"]);
    assert!(csv.lines().next().unwrap().contains(",realtime_inclusive,realtime_exclusive"));
}

#[test]
fn where_it_computes_and_where_it_waits() {
    let workshop = Workshop::new("where_it_computes_and_where_it_waits");
    workshop.compile("cc -O1 -g -pthread -o program @compute_and_wait.c");
    let share = |report: &Value, function: &str, name: &str| {
        let rows = report["rows"].as_array().unwrap().iter();
        let of_function = rows.filter(|row| row["function"] == function);
        of_function.map(|row| number(&row["metrics"][name]["inclusive"])).sum::<u64>()
    };
    let [computed, waited] = ["compute", "wait_a_while"];
    let mut last = None;
    // The handler of `realtime` works in a wait, where a tick brings all that none has met before.
    let is_right = in_one_of_three("where_it_computes_and_where_it_waits", || {
        let recording = last.insert(workshop.record(BOTH, &["./program", "threads"]));
        let flat = report(recording, &["--view", "flat"]);
        share(&flat, computed, "cputime") > 10 * share(&flat, waited, "cputime")
    });
    let recording = last.unwrap();
    check(&recording);
    let flat = report(&recording, &["--view", "flat"]);
    assert!(is_right, "{flat}");
    assert!(share(&flat, waited, "realtime") > 0, "{flat}");
    // A refinement does to both what it does to one.
    let refined = report(&recording, &["--refine", "through wait_a_while"]);
    for (place, name) in METRICS.into_iter().enumerate() {
        let metric = &refined["metrics"][place];
        assert_eq!(number(&metric["shown"]), share(&flat, waited, name));
        assert_eq!(number(&metric["shown"]) + number(&metric["out"]), number(&metric["base"]));
    }
    // Text: waiting is there though it is no CPU time, and comes first when it is asked for.
    let text = recording.output(&["report", "--ascii"]);
    assert!(text.contains(" wait_a_while"), "{text}");
    let sorted = ["report", "--view", "flat", "--sort", "realtime:excl", "--format", "json"];
    let sorted: Value = serde_json::from_str(&recording.output(&sorted)).unwrap();
    let costs: Vec<u64> = sorted["rows"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| number(&row["metrics"]["realtime"]["exclusive"]))
        .collect();
    assert!(costs.is_sorted_by(|a, b| a >= b), "{costs:?}");

    // What there is to be asked for is named.
    let refused = |arguments: &[&str]| {
        let outcome = workshop.csprof(arguments);
        assert_eq!(outcome.status.code(), Some(2), "{arguments:?}: {}", outcome.said());
        outcome.complained()
    };
    for arguments in [
        &["report", "run.csprof", "--metric", "misses"][..],
        &["report", "run.csprof", "--sort", "misses"],
        &["export", "run.csprof", "--format", "folded", "--metric", "misses"],
        &["diff", "run.csprof", "run.csprof", "--metric", "misses"],
    ] {
        let said = refused(arguments);
        assert!(METRICS.iter().all(|name| said.contains(name)), "{said}");
    }
    // A run is as long as itself, by either metric.
    for (name, samples) in METRICS.into_iter().zip(samples(&recording)) {
        let arguments = ["diff", "run.csprof", "run.csprof", "--metric", name, "--format", "json"];
        let outcome = workshop.csprof(&arguments);
        assert!(outcome.status.success(), "{}", outcome.complained());
        let diff: Value = serde_json::from_str(&outcome.said()).unwrap();
        for side in ["base", "other"] {
            assert_eq!(diff[side]["source"], name);
            assert_eq!(number(&diff[side]["samples"]["total"]), samples);
        }
        assert_eq!(diff["delta"], 0, "{diff}");
    }
}

/// Programs that people use: one that waits for itself, and one whose threads wait for each other.
#[test]
fn of_installed_programs() {
    if !are_installed("metrics_of_installed_programs", &["python3", "xz"]) {
        return;
    }
    let workshop = Workshop::new("metrics_of_installed_programs");
    let script = "import time, zlib\n\
                  data = bytes(range(256)) * 4000\n\
                  for _ in range(5):\n    time.sleep(0.05)\n    zlib.compress(data, 9)\n";
    check(&workshop.record(BOTH, &["python3", "-c", script]));
    let words = ["sh", "-c", "head -c 3000000 /dev/urandom | xz -T2 -0 | wc -c"];
    check(&workshop.record(BOTH, &words));
}
