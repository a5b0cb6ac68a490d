//! Code whose file is gone when the program has ended, or is another one by then: right names or
//! none, never another file's.

use std::fs;

use csprof_tests::recording::Recording;
use csprof_tests::workshop::Workshop;

/// Compiles the program and two libraries, of one layout; `options` are for the linker.
fn workshop(test: &str, options: &str) -> Workshop {
    let workshop = Workshop::new(test);
    workshop.compile(&format!("cc -O2 {options} -o program @gone.c"));
    compile_library(&workshop, options, "one.so", "first");
    compile_library(&workshop, options, "two.so", "other");
    workshop
}

fn compile_library(workshop: &Workshop, options: &str, name: &str, work: &str) {
    let library = "cc -O2 -shared -fPIC @load_libraries/work.c";
    workshop.compile(&format!("{library} {options} -Dwork={work} -DANSWER=1 -o {name}"));
}

/// Whether a function that works has its name.
fn is_named(recording: &Recording, function: &str) -> bool {
    let rows = recording.rows();
    rows.iter().any(|row| row.function == function && row.inclusive > 10)
}

const NAMED: &str = "-Wl,--build-id";
const NAMELESS: &str = "-Wl,--build-id=none";

#[test]
fn files_that_are_gone_while_they_are_in_use_keep_their_names() {
    for (test, options) in [("gone-named", NAMED), ("gone-nameless", NAMELESS)] {
        for what in ["u", "r", "d", "m", "nu", "nr"] {
            let workshop = workshop(test, options);
            // Those who have no rights any more may still move what is there.
            workshop.compile("chmod 777 .");
            let recording = workshop.record(&[], &["./program", what, "./one.so", "./two.so"]);
            let said = recording.outcome.said();
            assert!(said.starts_with("first: 60\n"), "{what}: {said}");
            assert!(is_named(&recording, "first"), "{options} {what}: {}", recording.rows());
            let rows = recording.rows();
            let burn = rows.iter().filter(|row| row.function == "burn").count();
            if what.starts_with('n') {
                // Symbols for dynamic linking alone, and where functions begin.
                let local = rows.iter().any(|row| row.function.starts_with("one.so+0x"));
                assert!(local, "{options} {what}: {rows}");
            } else {
                assert!(burn > 0, "{options} {what}: {rows}");
            }
            if what.contains('r') || what.contains('d') {
                assert_eq!(said, "first: 60\nother: 60\n");
                assert!(is_named(&recording, "other"), "{options} {what}: {rows}");
                assert!(rows.inclusive_of("first") > 0 && rows.inclusive_of("other") > 0, "{rows}");
            }
        }
    }
}

#[test]
fn a_program_that_is_unlinked_while_it_runs_keeps_its_names() {
    for (what, options) in [("s", NAMED), ("s", NAMELESS), ("ns", NAMED), ("ns", NAMELESS)] {
        let workshop = workshop("gone-program", options);
        workshop.compile("chmod 777 .");
        let recording = workshop.record(&[], &["./program", what]);
        assert!(is_named(&recording, "own_work"), "{options} {what}: {}", recording.rows());
        let modules: Vec<&str> = recording
            .profile
            .modules
            .iter()
            .map(|module| &*recording.profile.strings[module.path.index()])
            .collect();
        assert!(modules[0].ends_with("/program"), "{modules:?}");
    }
}

/// A process that is killed has no time to copy anything.
#[test]
fn a_killed_process_has_no_names_of_files_that_are_gone_and_says_why() {
    let workshop = workshop("gone-killed", NAMELESS);
    let recording = workshop.record(&[], &["./program", "rk", "./one.so", "./two.so"]);
    assert!(!is_named(&recording, "first") && !is_named(&recording, "other"));
    let why = "it has no build id, and the file that was loaded is gone, and another one is there";
    let info = recording.output(&["info"]);
    assert!(info.contains(why), "{info}");
}

/// Only what is still loaded at the end is copied.
#[test]
fn a_library_that_is_unloaded_before_the_end_has_no_names_and_the_reason_is_told() {
    for (options, why) in [
        (NAMED, "its build id differs"),
        (NAMELESS, "it has no build id, and the file that was loaded is gone"),
    ] {
        let workshop = workshop("gone-unloaded", options);
        let recording = workshop.record(&[], &["./program", "rc", "./one.so", "./two.so"]);
        assert_eq!(recording.outcome.said(), "first: 60\nother: 60\n");
        assert!(!is_named(&recording, "first"), "{options}: {}", recording.rows());
        let told = recording.outcome.complained();
        assert!(told.contains(why), "{options}: {told}");
    }
}

#[test]
fn a_file_without_a_build_id_that_has_changed_gives_no_names() {
    let workshop = workshop("gone-since", NAMELESS);
    let symbolize = || {
        let recording = workshop.record(&["--no-symbols"], &["./program", "", "./one.so"]);
        assert!(!is_named(&recording, "first"));
        recording
    };
    let names = |change: &str| {
        let recording = symbolize();
        if !change.is_empty() {
            workshop.compile(change);
        }
        let outcome = workshop.csprof(&["symbolize", "run.csprof"]);
        let again = Recording::new(outcome, recording.path().to_owned());
        (is_named(&again, "first"), again.outcome.complained())
    };
    assert!(names("").0, "the same file");
    for (change, why) in [
        ("chmod 700 one.so", "its inode was changed since it was loaded"),
        ("touch one.so", "it was written to, or replaced, since it was loaded"),
        // Of the same layout, and written before the run.
        ("ln -f two.so one.so", "is gone, and another one is there"),
    ] {
        let (named, told) = names(change);
        assert!(!named && told.contains(why), "{change}: {told}");
        assert!(told.contains("record again, or link it with --build-id"), "{told}");
        fs::remove_file(workshop.path("one.so")).unwrap();
        compile_library(&workshop, NAMELESS, "one.so", "first");
    }
}
