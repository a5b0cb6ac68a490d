//! Code whose file is gone when the program has ended, or is another one by then: right names or
//! none, never another file's.

use std::fs;
use std::os::unix::fs::MetadataExt as _;

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

/// Ticks of the kernel might miss half a second altogether.
const SOURCE: [&str; 2] = ["-e", "task-clock@200"];

const NAMED: &str = "-Wl,--build-id";
const NAMELESS: &str = "-Wl,--build-id=none";

#[test]
fn files_that_are_gone_while_they_are_in_use_keep_their_names() {
    for (test, options, ways) in [
        ("gone-named", NAMED, &["u", "r", "d", "m"][..]),
        // What was gone when it was first seen may be any file.
        ("gone-nameless", NAMELESS, &["u", "r", "d"]),
    ] {
        for what in ways {
            let workshop = workshop(test, options);
            let recording = workshop.record(&SOURCE, &["./program", what, "./one.so", "./two.so"]);
            let said = recording.outcome.said();
            assert!(said.starts_with("first: 60\n"), "{what}: {said}");
            assert!(is_named(&recording, "first"), "{options} {what}: {}", recording.rows());
            let rows = recording.rows();
            // Symbols for dynamic linking alone, and where functions begin.
            let places = ["one.so+0x", "memfd:library+0x"];
            let is_place = |name: &str| places.iter().any(|place| name.contains(place));
            let local = rows.iter().any(|row| is_place(&row.function));
            assert!(local, "{options} {what}: {rows}");
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
    for (what, options) in [("s", NAMED), ("s", NAMELESS)] {
        let workshop = workshop("gone-program", options);
        let recording = workshop.record(&SOURCE, &["./program", what]);
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

/// Devices and inodes are used again: of another file without a name, this would have the names.
#[test]
fn a_file_without_a_build_id_that_never_had_a_name_has_no_names() {
    let workshop = workshop("gone-memory", NAMELESS);
    let recording = workshop.record(&SOURCE, &["./program", "m", "./one.so", "./two.so"]);
    // The same one is on the disk, too.
    let rows = recording.rows();
    let is_nameless = rows.iter().any(|row| row.function.contains("memfd:library+0x"));
    assert!(is_nameless, "{rows}");
    let told = recording.outcome.complained();
    assert!(told.contains("what file it was is not known"), "{told}");
}

/// Anybody may put files where root's processes leave theirs.
#[test]
fn root_believes_no_copies_of_users_who_have_no_arena() {
    let is_root = fs::metadata("/proc/self").unwrap().uid() == 0;
    for (what, function) in [("nu", "first"), ("ns", "own_work")] {
        let workshop = workshop("gone-rights", NAMED);
        // Those who have no rights any more may still move what is there.
        workshop.compile("chmod 777 .");
        let mut words = vec!["./program", what];
        words.extend((what == "nu").then_some("./one.so"));
        let recording = workshop.record(&SOURCE, &words);
        assert_eq!(is_named(&recording, function), !is_root, "{what}: {}", recording.rows());
    }
}

/// Memory of a file that was made empty is there no more: who reads it gets SIGBUS (mmap(2)).
#[test]
fn a_library_that_was_made_empty_ends_no_program() {
    for options in [NAMED, NAMELESS] {
        let workshop = workshop("gone-empty", options);
        let compile = || {
            // Without a line of code or data that the loader needs at the end.
            let library = "cc -O2 -shared -fPIC -nostdlib @load_libraries/work.c";
            let options = format!("{options} -DPLAIN -Dwork=first -DANSWER=1 -o plain.so");
            workshop.compile(&format!("{library} {options}"));
        };
        compile();
        workshop.compile(&format!(
            "cc -O2 {options} -Wl,--no-as-needed -o linked @gone.c ./plain.so -Wl,-z,now"
        ));
        for (program, what) in [
            ("./program", "t"),
            ("./program", "tf"),
            ("./program", "te"),
            ("./linked", "te"),
            ("./program", "nt"),
        ] {
            let mut words = vec![program, what, "./plain.so"];
            // A library that is looked through for symbols ends the program by itself.
            words.extend((program == "./program").then_some("./two.so"));
            workshop.compile("chmod 777 .");
            compile();
            workshop.compile("chmod 666 plain.so");
            let alone = workshop.run(&words);
            assert!(alone.status.success(), "{options} {words:?} alone: {}", alone.status);
            compile();
            workshop.compile("chmod 666 plain.so");
            let recording = workshop.record(&SOURCE, &words);
            assert!(recording.outcome.status.success(), "{}", recording.outcome.complained());
        }
    }
}

/// A process that is killed has no time to copy anything.
#[test]
fn a_killed_process_has_no_names_of_files_that_are_gone_and_says_why() {
    let workshop = workshop("gone-killed", NAMELESS);
    let recording = workshop.record(&SOURCE, &["./program", "rk", "./one.so", "./two.so"]);
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
        let recording = workshop.record(&SOURCE, &["./program", "rc", "./one.so", "./two.so"]);
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
        let recording = workshop
            .record(&["-e", "task-clock@200", "--no-symbols"], &["./program", "", "./one.so"]);
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
