//! Names that come after the run.

use std::fs;

use csprof_format::read;
use csprof_tests::deadline;
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

/// Two runs are never alike, so one is kept: its program takes away the folder that the profile
/// belongs in.
#[test]
fn names_that_come_later_make_the_same_file() {
    let workshop = Workshop::new("symbolize_later");
    workshop.compile("cc -O2 -g -o program @figure1.c");
    fs::create_dir(workshop.path("gone")).unwrap();
    let script = "./program; rmdir gone";
    let outcome = workshop.csprof(&["record", "-o", "gone/run.csprof", "sh", "-c", script]);
    let complained = outcome.complained();
    let (_, kept) =
        complained.split_once("csprof salvage ").unwrap_or_else(|| panic!("{complained}"));
    let kept = kept.strip_suffix(" -o FILE\n").unwrap();
    let done = |size: &str, arguments: &[&str]| {
        let mut command = workshop.csprof_command();
        command.env("CSPROF_CACHE_SIZE", size).env("XDG_CACHE_HOME", workshop.path("cache"));
        let outcome = deadline::run(command.args(arguments));
        assert!(outcome.status.success(), "{}", outcome.complained());
        outcome.said()
    };
    done("0", &["salvage", kept, "-o", "named.csprof"]);
    done("0", &["salvage", kept, "--no-symbols", "-o", "bare.csprof"]);
    assert!(done("1M", &["cache"]).contains("/cache/csprof/names: 0 programs"));
    done("1M", &["symbolize", "bare.csprof", "-o", "later.csprof"]);
    let held = done("1M", &["cache"]);
    assert!(!held.contains(" 0 programs") && held.ends_with(" of at most 1.0 MiB\n"), "{held}");
    done("1M", &["symbolize", "bare.csprof"]);
    assert!(done("1M", &["cache", "--clear"]).contains(": 0 programs and libraries, 0.0 of"));
    assert!(done("0", &["cache"]).contains("; not used: CSPROF_CACHE_SIZE=256M would turn it on"));
    let bytes = |name| fs::read(workshop.path(name)).unwrap();
    let named = read::read(&bytes("named.csprof")).unwrap();
    assert!(named.functions.len() > 4 && !named.structure.loops.is_empty());
    for later in ["later.csprof", "bare.csprof"] {
        assert_eq!(read::read(&bytes(later)).unwrap(), named);
        assert!(bytes(later) == bytes("named.csprof"), "{later}: other bytes of the same values");
    }
    fs::remove_dir_all(kept).unwrap();
}
