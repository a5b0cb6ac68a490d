//! Names that come after the run.

use std::fs;

use csprof_format::read;
use csprof_tests::installed::are_installed;
use csprof_tests::workshop::Workshop;

/// Debug symbols of a stripped program are installed when it has been profiled, and the program is
/// gone by then.
#[test]
fn names_come_from_debug_symbols_installed_since() {
    if !are_installed("names_come_from_debug_symbols_installed_since", &["objcopy", "strip"]) {
        return;
    }
    let workshop = Workshop::new("symbolize");
    workshop.compile("cc -O2 -g -Wl,--build-id=0xabcdef0123 -o program @figure1.c");
    let folder = workshop.path("debug/.build-id/ab");
    fs::create_dir_all(&folder).unwrap();
    workshop.compile("objcopy --only-keep-debug program debug/.build-id/ab/cdef0123.debug");
    workshop.compile("strip --strip-all program");
    let recording = workshop.record(&[], &["./program"]);
    let said = recording.outcome.complained();
    assert!(said.contains("of program without names: it is stripped; install its debug"), "{said}");
    fs::remove_file(workshop.path("program")).unwrap();
    let flat = ["report", "--view", "flat", "--metric", "samples", "--format", "csv"];
    let before = recording.output(&flat);
    assert!(!before.contains("figure1.c"), "{before}");
    let bytes = fs::read(recording.path()).unwrap();

    // Nothing to find, nothing to lose.
    let outcome = workshop.csprof(&["symbolize", "run.csprof"]);
    assert!(outcome.complained().ends_with("the file is unchanged\n"), "{}", outcome.complained());
    assert_eq!(fs::read(recording.path()).unwrap(), bytes);

    let outcome = workshop.csprof(&["symbolize", "run.csprof", "--debug-dir", "debug"]);
    assert_eq!(outcome.status.code(), Some(0));
    let told =
        "program: functions, lines and inlined frames from debug/.build-id/ab/cdef0123.debug";
    assert!(outcome.complained().contains(told), "{}", outcome.complained());
    let after = recording.output(&flat);
    for function in ["a", "b", "c", "d"] {
        assert!(after.contains(&format!(",{function},")), "{after}");
    }
    assert!(after.contains("figure1.c"), "{after}");
    // All but names is the same.
    let before = read::read(&bytes).unwrap();
    let mut after = read::open(recording.path()).unwrap();
    after.strings.clone_from(&before.strings);
    after.modules.clone_from(&before.modules);
    after.functions.clone_from(&before.functions);
    after.sites.clone_from(&before.sites);
    assert_eq!(after, before);
}
