//! Slices of a run (`--slice`): phases by elapsed time, the same for all threads and processes.

use csprof_tests::recording::Recording;
use csprof_tests::workshop::Workshop;

fn record(test: &str, length: &str, arguments: &[&str]) -> Recording {
    let workshop = Workshop::new(test);
    workshop.compile("cc -O1 -g -pthread -o phases @phases.c");
    // Its samples come when they are due.
    let options = ["--slice", length, "-e", "task-clock@200"];
    let recording = workshop.record(&options, arguments);
    assert!(recording.outcome.status.success(), "{}", recording.outcome.complained());
    recording
}

/// The names of the slices that the profile tells of, in their order, with their bounds in
/// milliseconds.
fn slices(recording: &Recording) -> Vec<(String, u64, u64)> {
    let phases = recording.info["phases"].as_array().unwrap();
    let ms = |text: &str| {
        let seconds: f64 = text.strip_suffix('s').unwrap().parse().unwrap();
        (seconds * 1000.0).round() as u64
    };
    let bounds = |phase: &serde_json::Value| {
        let name = phase["name"].as_str().unwrap().to_owned();
        let (from, to) = name.split_once("..").unwrap();
        let bounds = (ms(from), if to.is_empty() { u64::MAX } else { ms(to) });
        (name, bounds.0, bounds.1)
    };
    phases.iter().map(bounds).collect()
}

fn shown(recording: &Recording, refinement: &str) -> u128 {
    recording.refined(refinement).shown
}

/// Each process has its samples in the slice of the moment: the child's come after its parent's.
#[test]
fn slices_are_of_all_processes_and_come_one_after_the_other() {
    for (test, mode) in [("slices_threads", "threads"), ("slices_fork", "fork")] {
        let recording = record(test, "50ms", &["./phases", "400", mode]);
        let found = slices(&recording);
        assert!(found.len() >= 3, "{found:?}");
        // On a busy machine csprof may be held up for longer than a slice, whose name then says so.
        assert!(found.iter().all(|(_, from, to)| from % 50 == 0 && from + 50 <= *to), "{found:?}");
        assert!(found.windows(2).all(|pair| pair[0].2 <= pair[1].1), "{found:?}");
        assert_eq!(shown(&recording, "not phase = *"), 0);
        // All that is in `first` comes before all that is in `second`, but for a common slice.
        let with = |function: &str| {
            let rows = recording.refined(&format!("split phase | through {function}"));
            let is_there = |(name, ..): &&(String, u64, u64)| {
                rows.iter().any(|row| row.function == format!("phase={name}"))
            };
            found.iter().filter(is_there).map(|&(_, from, _)| from).collect::<Vec<_>>()
        };
        let (first, second) = (with("first"), with("second"));
        assert!(!first.is_empty() && first.last() <= second.first(), "{first:?}, then {second:?}");
        // As rows, they add up to what was sampled.
        let split = recording.refined("split phase");
        let has_samples = |(name, ..): &&(String, u64, u64)| {
            split.iter().any(|row| row.function == format!("phase={name}"))
        };
        let sampled = found.iter().filter(has_samples).count();
        assert!(first.len() + second.len() > sampled / 2, "{first:?}, {second:?}, {split}");
        let whole = u128::from(recording.samples().recorded);
        assert_eq!((split.shown, split.base), (whole, whole), "{split}");
        let spread = recording.output(&["report", "--view", "distribution", "--over", "phase"]);
        assert!(found.iter().any(|(name, ..)| spread.contains(name)), "{spread}");
        // As a column of the report.
        let report = recording.output(&["report", "--spread", "--format", "json"]);
        let report: serde_json::Value = serde_json::from_str(&report).unwrap();
        let names = report["over_phases"].as_array().unwrap();
        let is_slice = |name: &serde_json::Value| {
            let known = found.iter().map(|(slice, ..)| format!("phase {slice}"));
            known.into_iter().any(|slice| *name == slice)
        };
        assert!(names.len() > 1 && names.iter().all(is_slice), "{names:?}");
        let cells = report["rows"][0]["over_phases"].as_array().unwrap();
        assert_eq!(cells.len(), names.len().min(12));
    }
}

/// The program's own phases, whose numbers would be those of slices, are not mixed with them.
#[test]
fn phases_of_the_program_are_told_not_to_be_kept() {
    let workshop = Workshop::new("slices_words");
    workshop.compile("cc -O2 -g -pthread -I @../../collector/api -o words @words.c");
    let options = ["--slice", "1h", "-e", "resource:rows@1"];
    let recording = workshop.record(&options, &["./words", "plain"]);
    let names: Vec<_> = recording.profile.phases.iter().map(|phase| &*phase.name).collect();
    assert_eq!(names, ["0s..3600s"]);
    assert!(
        recording.messages().contains("not kept beside those of --slice"),
        "{}",
        recording.messages()
    );
}
