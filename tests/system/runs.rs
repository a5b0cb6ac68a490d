//! Several runs compared with several, and runs on different numbers of threads.

use std::fs;

use csprof_tests::notes::note;
use csprof_tests::recording::in_one_of_three;
use csprof_tests::workshop::Workshop;
use serde_json::Value;

/// Records a program and keeps the profile under a name. It does not need the kernel's tick: where
/// that comes late, the end of one function is in the next.
fn record(workshop: &Workshop, command: &[&str], name: &str) {
    let _recorded = workshop.record(&["-e", "task-clock@200"], command);
    fs::rename(workshop.path("run.csprof"), workshop.path(name)).unwrap();
}

fn diff(workshop: &Workshop, arguments: &[&str]) -> Value {
    let arguments = [&["diff"], arguments, &["--format", "json"]].concat();
    let outcome = workshop.csprof(&arguments);
    assert!(outcome.status.success(), "{arguments:?}: {}", outcome.complained());
    serde_json::from_str(&outcome.said()).unwrap()
}

/// The row of a function that costs most, in milliseconds: a number by its keys.
fn of(report: &Value, function: &str, key: &str) -> i64 {
    let rows = report["rows"].as_array().unwrap();
    let row = rows.iter().find(|row| row["function"] == function).unwrap();
    row[key]["inclusive"].as_i64().unwrap() / 1_000_000
}

/// Three runs of less work and three of more: the spread between runs is the noise. What a host
/// adds to two of one side by taking processors away hides the difference, so that all may be
/// recorded anew.
#[test]
fn several_runs_are_judged_by_their_spread() {
    let workshop = Workshop::new("several_runs_are_judged_by_their_spread");
    workshop.compile("cc -O2 -pthread -o scaled @scaled.c");
    let is_told = || differ_by_more_than_their_spread(&workshop);
    assert!(in_one_of_three("several_runs_are_judged_by_their_spread", is_told));
    refusals(&workshop, ["a1.csprof", "a2.csprof", "b1.csprof"]);
}

/// Records them, and returns whether they are told to differ, by as much as they do.
fn differ_by_more_than_their_spread(workshop: &Workshop) -> bool {
    let [base, other] = [("a", "2"), ("b", "4")].map(|(name, threads)| {
        [1, 2, 3].map(|run| {
            let name = format!("{name}{run}.csprof");
            record(workshop, &["./scaled", threads], &name);
            name
        })
    });
    let [[a1, a2, a3], [b1, b2, b3]] =
        [&base, &other].map(|runs| runs.each_ref().map(|run| &**run));
    let report = diff(workshop, &[a1, a2, a3, "--with", b1, b2, b3, "--view", "flat"]);
    assert_eq!(report["noise_by"], "welch");
    assert_eq!(report["base"]["runs"].as_array().unwrap().len(), 3);
    // Means of runs: 600 ms divided among any number, and 150 ms for each of two, or four.
    let [base, other] = ["base", "other"].map(|side| of(&report, "repeated", side));
    let [low, delta, high] = ["low", "delta", "high"].map(|end| of(&report, "repeated", end));
    assert!(low < delta && delta < high, "{low} to {high}: {report}");
    if !(200..400).contains(&base) || !(450..750).contains(&other) || low <= 0 {
        note(&format!("{base} and {other}, {low} to {high}: {report}"));
        return false;
    }
    // One run against three, and the same runs on both sides.
    let report = diff(workshop, &[a1, "--with", b1, b2, b3]);
    assert_eq!(report["noise_by"], "one-sided");
    let report = diff(workshop, &[a1, a2, a3, "--with", a1, a2, a3]);
    let rows = report["rows"].as_array().unwrap();
    assert!(!rows.is_empty() && rows.iter().all(|row| row["significant"] == false), "{report}");
    let above = ["diff", a1, a2, a3, "--with", b1, b2, b3, "--fail-above", "1"];
    let outcome = workshop.csprof(&above);
    assert_eq!(outcome.status.code(), Some(1));
    let told = outcome.complained();
    assert!(told.contains("more per run than a1.csprof +2"), "{told}");
    true
}

fn refusals(workshop: &Workshop, [a1, a2, b1]: [&str; 3]) {
    let merged = workshop.csprof(&["merge", "-o", "merged.csprof", a1, a2]);
    assert!(merged.status.success(), "{}", merged.complained());
    let _other_rate = workshop.record(&["-e", "task-clock@100"], &["./scaled", "2"]);
    for (arguments, status, cause) in [
        (&["diff", a1, "run.csprof", "--with", b1][..], 1, "was sampled by"),
        (&["diff", a1, a1, "--with", b1], 1, "is the same run as"),
        (
            &["diff", "merged.csprof", a1, "--with", b1],
            1,
            "is the same run as one in merged.csprof",
        ),
        (&["diff", a2, "merged.csprof", "--with", b1], 1, "holds a run of a2.csprof"),
        (&["diff", a1, a2, b1], 2, "--with"),
        (&["diff", a1], 2, "two files are compared"),
        (&["diff", a1, b1, "--scaling", "weak", "--workers", "4"], 2, "4,16"),
        (&["diff", a1, b1, "--workers", "4,16"], 2, "--scaling"),
        (&["diff", b1, a1, "--scaling", "weak"], 2, "fewer comes first"),
    ] {
        let outcome = workshop.csprof(arguments);
        let complained = outcome.complained();
        assert_eq!(outcome.status.code(), Some(status), "{arguments:?}: {complained}");
        assert!(complained.contains(cause), "{arguments:?}: {complained}");
    }
}

/// What each thread repeats is lost in strong scaling; of twice the work for twice the threads,
/// nothing is.
///
/// A host that takes the processor away for 100 ms lets them pass on the threads' own clocks, and
/// the samples of that time come where the thread is afterwards. So a run may be recorded anew;
/// what csprof computes wrongly of it, it computes wrongly three times.
#[test]
fn what_threads_repeat_is_lost() {
    let workshop = Workshop::new("what_threads_repeat_is_lost");
    workshop.compile("cc -O2 -pthread -o scaled @scaled.c");
    let faults: Vec<_> = std::iter::repeat_with(|| loss_of_scaling(&workshop))
        .take(3)
        .map_while(Result::err)
        .collect();
    assert!(faults.len() < 3, "{}", faults.join("\n"));
}

/// Records 1, 2 and 4 threads and compares each with each; an error where a loss is not what the
/// program was made for.
fn loss_of_scaling(workshop: &Workshop) -> Result<(), String> {
    for threads in ["1", "2", "4"] {
        record(workshop, &["./scaled", threads], &format!("strong{threads}.csprof"));
        record(workshop, &["./scaled", threads, "weak"], &format!("weak{threads}.csprof"));
    }
    for (base, other) in [(1, 2), (1, 4), (2, 4)] {
        let files = |kind: &str| [base, other].map(|threads| format!("{kind}{threads}.csprof"));
        let [base_file, other_file] = files("strong");
        let strong = diff(workshop, &[&base_file, &other_file, "--scaling", "strong"]);
        assert_eq!(strong["workers"], serde_json::json!([base, other]), "{base_file} {other_file}");
        is_near(&strong, "repeated", 150 * (other - base), 100)?;
        is_near(&strong, "divided", 0, 150)?;

        let [base_file, other_file] = files("weak");
        let weak = diff(workshop, &[&base_file, &other_file, "--scaling", "weak"]);
        let expected = of(&weak, "repeated", "expected");
        assert_eq!(expected, of(&weak, "repeated", "base") * other / base);
        for function in ["repeated", "divided"] {
            // A tenth of what all threads do; a sample is 5 ms.
            is_near(&weak, function, 0, of(&weak, function, "other") / 10 + 60)?;
        }
    }
    Ok(())
}

/// Whether the difference of a function is what it should be, both in milliseconds.
fn is_near(report: &Value, function: &str, expected: i64, tolerance: i64) -> Result<(), String> {
    let loss = of(report, function, "delta");
    if (loss - expected).abs() <= tolerance {
        return Ok(());
    }
    Err(format!("{function}: {loss} ms lost and not {expected}: {report}"))
}
