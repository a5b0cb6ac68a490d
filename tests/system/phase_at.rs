//! Phases that begin where functions are entered (`--phase-at`), in programs that know nothing of
//! it. Each entry counts a row, so it is known which phase has what.

use csprof_tests::notes::skip;
use csprof_tests::recording::Recording;
use csprof_tests::workshop::Workshop;

/// Records `entered HOW`; `None` where the machine has no breakpoints.
fn record(how: &str, functions: &[&str]) -> Option<Recording> {
    record_with(how, functions, &[])
}

/// The same with further options.
fn record_with(how: &str, functions: &[&str], further: &[&str]) -> Option<Recording> {
    let test = format!("phase_at_{how}");
    let workshop = Workshop::new(&test);
    let compile = "cc -O1 -g -pthread -I @../../collector/api";
    workshop.compile(&format!("{compile} -o entered @entered.c -ldl"));
    workshop.compile(&format!("{compile} -DLIBRARY -fPIC -shared -o libentered.so @entered.c"));
    let alone = workshop.run(&["./entered", how]);
    let mut options = vec!["-e", "resource:rows@1"];
    options.extend(further);
    functions.iter().for_each(|function| options.extend(["--phase-at", function]));
    let recording = workshop.record(&options, &["./entered", how]);
    assert_eq!(recording.outcome.said(), alone.said());
    assert!(recording.outcome.status.success(), "{}", recording.outcome.complained());
    if recording.messages().contains("begins no phases") {
        skip(&test, "the machine has no breakpoints, or the kernel does not permit them");
        return None;
    }
    Some(recording)
}

/// The phases in their order, with the rows that were counted in each.
fn rows(recording: &Recording) -> Vec<(String, u64)> {
    let phases = recording.info["phases"].as_array().unwrap().iter();
    let row = |phase: &serde_json::Value| {
        let name = phase["name"].as_str().unwrap_or("none").to_owned();
        (name, phase["samples"]["rows"].as_u64().unwrap())
    };
    phases.map(row).collect()
}

fn numbered(function: &str, numbers: std::ops::RangeInclusive<u32>) -> Vec<(String, u64)> {
    numbers.map(|number| (format!("{function} {number}"), 1)).collect()
}

#[test]
fn each_entry_begins_a_phase_also_of_recursion() {
    let Some(recording) = record("recursive", &["descend"]) else { return };
    assert_eq!(rows(&recording), numbered("descend", 1..=12));
    let refined = recording.refined("phase = descend\\ 3");
    assert_eq!(refined.shown, 1, "{refined}");
    assert_eq!(recording.refined("split phase").shown, 12);
}

#[test]
fn entries_of_all_threads_begin_phases_of_the_process() {
    let Some(recording) = record("threads", &["st?p"]) else { return };
    assert_eq!(rows(&recording), numbered("step", 1..=6));
}

/// The child goes on in its parent's phase, and both count from there on.
#[test]
fn a_forked_child_goes_on_in_its_parents_phase() {
    let Some(recording) = record("fork", &["entered:step"]) else { return };
    let expected = [("step 1", 1), ("step 2", 11), ("step 3", 2)];
    assert_eq!(rows(&recording), expected.map(|(name, rows)| (name.to_owned(), rows)));
}

/// Entries come by another signal from there on.
#[test]
fn a_program_that_takes_the_signal_has_its_phases() {
    let Some(recording) = record("trap", &["step", "descend"]) else { return };
    assert_eq!(rows(&recording), numbered("step", 1..=3));
}

/// That signal tells of an event by nothing but the number that its file had.
#[test]
fn entries_of_several_functions_and_samples_are_told_apart_without_the_loan() {
    for functions in [["step", "descend"], ["descend", "step"]] {
        for further in [&[][..], &["-e", "task-clock"]] {
            let Some(recording) = record_with("taken", &functions, further) else { return };
            let mut rows = rows(&recording);
            rows.retain(|(_, rows)| *rows > 0);
            let expected = [numbered("descend", 1..=2), numbered("step", 1..=1)].concat();
            assert_eq!(rows, expected, "{functions:?} {further:?}");
            let samples: u64 = recording.profile.threads.iter().map(|thread| thread.signals).sum();
            assert_eq!(samples > 0, !further.is_empty(), "{functions:?} {further:?}");
        }
    }
}

/// Wherever it is loaded: the address that it had before means nothing meanwhile.
#[test]
fn functions_of_libraries_are_found_when_these_are_loaded() {
    let Some(recording) = record("library", &["./libentered.so:plugin_step"]) else { return };
    assert_eq!(rows(&recording), numbered("plugin_step", 1..=6));
}

/// A function that is entered without end costs a bounded number of signals.
#[test]
fn entries_that_are_too_many_are_told_of() {
    let Some(recording) = record("many", &["step"]) else { return };
    let rows = rows(&recording);
    assert_eq!(rows.len(), 4097);
    assert_eq!(rows[4095], ("step 4096".to_owned(), 1));
    assert_eq!(rows[4096], ("none".to_owned(), 100_000 - 4096));
    let signals: u64 = recording.profile.threads.iter().map(|thread| thread.signals).sum();
    assert_eq!(signals, 0, "entries are no samples");
    assert!(
        recording.messages().contains("4096 entries began a phase"),
        "{}",
        recording.messages()
    );
}

/// Before the program starts, with what is near.
#[test]
fn a_function_that_is_nowhere_is_an_error() {
    let workshop = Workshop::new("phase_at_nowhere");
    workshop.compile("cc -O1 -I @../../collector/api -o entered @entered.c -ldl -pthread");
    for (function, told) in [
        ("stepp", "no function of this name in "),
        ("libnone.so:step", "the program needs no such library"),
        ("./none.so:step", "No such file"),
        ("str*", "breakpoints; name fewer"),
    ] {
        let words = ["record", "-o", "run.csprof", "--phase-at", function, "./entered", "many"];
        let outcome = workshop.csprof(&words);
        let complained = outcome.complained();
        assert!(complained.contains(told), "{function}: {complained}");
        assert_eq!(complained.lines().count(), 1, "{complained}");
        assert_eq!((outcome.status.code(), &*outcome.said()), (Some(125), ""), "{complained}");
        assert!(function != "stepp" || complained.contains("near: step"), "{complained}");
    }
}
