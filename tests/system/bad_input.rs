//! What csprof cannot read, run or save: one clear line each, with the remedy where there is one,
//! and nothing half-written.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::{Duration, SystemTime};

use csprof_tests::installed::are_installed;
use csprof_tests::notes::skip;
use csprof_tests::small_disk::SmallDisk;
use csprof_tests::workshop::Workshop;

/// Runs csprof, which must end with `status` and say `expected` and nothing else.
fn refuses(workshop: &Workshop, arguments: &[&str], status: i32, expected: &str) {
    let outcome = workshop.csprof(arguments);
    let complained = outcome.complained();
    assert_eq!(outcome.said(), "", "{arguments:?}");
    assert_eq!(complained, expected, "{arguments:?}");
    assert_eq!(outcome.status.code(), Some(status), "{arguments:?}: {complained}");
}

#[test]
fn files_that_are_no_profiles() {
    let workshop = Workshop::new("files_that_are_no_profiles");
    let good =
        fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("golden/v1/small.csprof")).unwrap();
    let mut flipped = good.clone();
    flipped[good.len() / 2] ^= 0x40;
    fs::write(workshop.path("cut.csprof"), &good[..good.len() / 2]).unwrap();
    fs::write(workshop.path("flipped.csprof"), flipped).unwrap();
    fs::write(workshop.path("empty.csprof"), "").unwrap();
    fs::write(workshop.path("notes.txt"), "to do: buy milk\n").unwrap();
    fs::create_dir(workshop.path("folder")).unwrap();

    for (file, expected) in [
        (
            "cut.csprof",
            "csprof: cut.csprof: block 5 at byte 0x2f6: the file is cut off, bytes missing: 30 or \
             more; 5 of 6 blocks were readable, use --salvage to open them\n",
        ),
        (
            "flipped.csprof",
            "csprof: flipped.csprof: block 5 at byte 0x2f6: the header is damaged: its checksum \
             does not match; 5 of 6 blocks were readable, use --salvage to open them\n",
        ),
        (
            "empty.csprof",
            "csprof: empty.csprof: the file is empty; its recording was not finished\n",
        ),
        ("notes.txt", "csprof: notes.txt: this is a text file, not a profile\n"),
        ("folder", "csprof: folder: this is a folder, not a profile\n"),
        (
            "missing.csprof",
            "csprof: missing.csprof: cannot open the profile: there is no such file\n",
        ),
    ] {
        for reader in [
            &["report", file][..],
            &["info", file],
            &["view", file],
            &["export", file, "--format", "folded"],
        ] {
            refuses(&workshop, reader, 1, expected);
        }
    }
}

/// With the status of a shell.
#[test]
fn programs_that_cannot_be_started() {
    let workshop = Workshop::new("programs_that_cannot_be_started");
    fs::write(workshop.path("data"), "to do: buy milk\n").unwrap();
    fs::write(workshop.path("script"), "#!/no/such/interpreter\n").unwrap();
    fs::set_permissions(workshop.path("script"), Permissions::from_mode(0o755)).unwrap();
    fs::create_dir(workshop.path("folder")).unwrap();

    for (program, status, expected) in [
        ("./missing", 127, "csprof: ./missing: there is no such file\n"),
        ("no-such-program", 127, "csprof: no-such-program: not found in any folder of PATH\n"),
        ("./data", 126, "csprof: ./data: cannot be executed: permission denied\n"),
        ("./folder", 126, "csprof: ./folder: cannot be executed: it is a folder\n"),
        ("./script", 127, "csprof: /no/such/interpreter: there is no such file\n"),
    ] {
        refuses(&workshop, &["record", "-o", "run.csprof", program], status, expected);
    }
    assert!(!workshop.path("run.csprof").exists());
}

#[test]
fn a_program_that_cannot_be_profiled_runs() {
    let workshop = Workshop::new("a_program_that_cannot_be_profiled_runs");
    workshop.compile("cc -O2 -static -o static @starts.c");
    let outcome = workshop.csprof(&["record", "-o", "run.csprof", "./static"]);
    assert_eq!(outcome.said(), "runs\n");
    assert_eq!(outcome.status.code(), Some(7));
    let expected = "csprof: warning: ./static is not profiled: it is statically linked, so no \
                    dynamic loader runs; programs that it starts are\n";
    assert!(outcome.complained().starts_with(expected), "{}", outcome.complained());
}

#[test]
fn wrong_usage() {
    let workshop = Workshop::new("wrong_usage");
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("golden/v1/small.csprof");
    fs::copy(golden, workshop.path("small.csprof")).unwrap();
    for (arguments, expected) in [
        (
            &["record", "-e", "cputime@often", "true"][..],
            "error: invalid value 'cputime@often' for '-e <SOURCE[@RATE]>': `often` is neither a \
             rate (200, 200Hz, 1kHz) nor a period (5ms; units ns us ms s)",
        ),
        (
            &["record", "-e", "cputime@0", "true"],
            "error: invalid value 'cputime@0' for '-e <SOURCE[@RATE]>': `0` is out of range: from \
             one sample every 10 s to 100000 samples per second",
        ),
        (
            &["record", "-e", "sunlight", "true"],
            "error: invalid value 'sunlight' for '-e <SOURCE[@RATE]>': there is no sample source \
             `sunlight`; there are cputime, task-clock, realtime, alloc, alloc-calls, leak, io-read, ",
        ),
        (
            &["record", "-e", "cache-mises", "true"],
            "error: invalid value 'cache-mises' for '-e <SOURCE[@RATE]>': there is no sample source \
             `cache-mises`; near: `cache-misses`",
        ),
        (
            &["record", "-e", "software/x/", "true"],
            "error: invalid value 'software/x/' for '-e <SOURCE[@RATE]>': there is no sample source \
             `x` (of `software/x/`); ",
        ),
        (
            &["record", "-e", "page-faults@0", "true"],
            "error: invalid value 'page-faults@0' for '-e <SOURCE[@RATE]>': `0` is not a number of \
             events from 1 to 10000000000",
        ),
        (
            &["record", "--slice", "0s", "true"],
            "error: invalid value '0s' for '--slice <TIME>': a slice takes 10ms or more, in whole \
             milliseconds",
        ),
        (
            &["record", "--slice", "5", "true"],
            "error: invalid value '5' for '--slice <TIME>': say the unit of 5: 5s or 5ms, for instance",
        ),
        (
            &["record", "--slice=-1s", "true"],
            "error: invalid value '-1s' for '--slice <TIME>': an amount of time is a number of seconds, \
             or ends with ms, s, m or h",
        ),
        (
            &["record", "--phase-at", "libm.so.6:", "true"],
            "error: invalid value 'libm.so.6:' for '--phase-at <[MODULE:]FUNCTION>': say which \
             function: FUNCTION or MODULE:FUNCTION",
        ),
        (&["record"], "error: the following required arguments were not provided:"),
        (
            &["completions"],
            "error: the following required arguments were not provided:\n  <SHELL>\n\nUsage: csprof \
             completions <SHELL>\n",
        ),
        (
            &["report", "small.csprof", "--refine", "thrugh main"],
            "csprof: --refine:\nthrugh main\n^^^^^^\n`thrugh` is no stage, `through` is; stages are: ",
        ),
        (
            &["report", "small.csprof", "--refine", "through main >"],
            "csprof: --refine:\nthrough main >\n",
        ),
    ] {
        let outcome = workshop.csprof(arguments);
        let complained = outcome.complained();
        assert_eq!(outcome.status.code(), Some(2), "{complained}");
        assert!(complained.starts_with(expected), "{arguments:?}: {complained}");
        assert_eq!(outcome.said(), "");
    }
    refuses(
        &workshop,
        &["report", "small.csprof", "--refine", "through no_such_function"],
        1,
        "csprof: --refine:\nthrough no_such_function\n        ^^^^^^^^^^^^^^^^\nno function matches no_such_function\n",
    );
}

#[test]
fn places_where_nothing_can_be_saved() {
    let workshop = Workshop::new("places_where_nothing_can_be_saved");
    fs::write(workshop.path("precious.csprof"), "precious").unwrap();
    for (place, expected) in [
        (
            "/no/such/folder/run.csprof",
            "csprof: /no/such/folder: there is no such folder to save the profile in\n",
        ),
        (
            "precious.csprof",
            "csprof: precious.csprof: exists already; -f replaces it, or choose another name\n",
        ),
        // Nobody, not even root, makes files here.
        (
            "/proc/run.csprof",
            "csprof: /proc: the profile cannot be saved in this folder: No such file or directory \
             (os error 2); name another with -o FILE\n",
        ),
    ] {
        refuses(&workshop, &["record", "-o", place, "touch", "begun"], 125, expected);
        refuses(&workshop, &["demo", "-o", place], 125, expected);
    }
    // `record` finds a name in it.
    refuses(&workshop, &["demo", "-o", "."], 125, "csprof: .: is a folder; name a file in it\n");
    assert!(!workshop.path("begun").exists(), "the program ran");
    assert_eq!(fs::read(workshop.path("precious.csprof")).unwrap(), b"precious");
}

/// The program has run when the disk turns out to be full, so what was sampled is kept, and the
/// message says how to get at it.
#[test]
fn a_full_disk() {
    if !are_installed("a_full_disk", &["mount", "umount"]) {
        return;
    }
    let workshop = Workshop::new("a_full_disk");
    workshop.compile("cc -O2 -pthread -o program @endings.c");
    let Some(disk) = SmallDisk::mount(&workshop, "8k") else {
        return skip("a_full_disk", "no right to mount a small disk");
    };
    // As much as fits, which is not all.
    let _ = fs::write(workshop.path("disk/filling"), [0; 1 << 16]);
    let outcome = workshop.csprof(&[
        "record",
        "-e",
        "realtime@200",
        "-o",
        "disk/run.csprof",
        "./program",
        "return",
    ]);
    let complained = outcome.complained();
    // The program's own failure tells more than ours.
    assert_eq!(outcome.status.code(), Some(3), "{complained}");
    let file = fs::canonicalize(workshop.path("disk")).unwrap().join("run.csprof");
    let prefix = format!(
        "csprof: {}: cannot save the profile: the disk is full; free some space, or choose another \
         place with -o; what was sampled is kept: csprof salvage ",
        file.display()
    );
    let rest = complained.strip_prefix(&prefix).unwrap_or_else(|| panic!("{complained}"));
    let kept = rest.strip_suffix(" -o FILE\n").unwrap_or_else(|| panic!("{complained}"));
    assert!(!file.exists(), "something half-written was left");
    drop(disk);

    let salvaged = workshop.csprof(&["salvage", kept, "-o", "run.csprof"]);
    assert!(salvaged.status.success(), "{}", salvaged.complained());
    let options = ["report", "run.csprof", "--refine", "through work", "--format", "json"];
    let said = workshop.csprof(&options).said();
    let report: serde_json::Value = serde_json::from_str(&said).unwrap();
    let shown = report["shown"].as_u64().unwrap();
    // 400 ms of 5 ms each at least; how long the rest takes depends on what else the machine does.
    assert!(shown >= 72, "{said}");

    // As another version's, that is too old to be in use: it may be had by that one.
    let entries = fs::read_dir(kept).unwrap().map(|entry| entry.unwrap().path());
    let name = |path: &Path| path.file_name().unwrap().to_str().unwrap().to_owned();
    let arenas = entries.into_iter().find(|path| name(path).starts_with("arenas")).unwrap();
    fs::write(arenas.join("1-1.arena"), [1; 1 << 16]).unwrap();
    let long_ago = SystemTime::now() - Duration::from_secs(7200);
    fs::File::open(kept).unwrap().set_modified(long_ago).unwrap();
    let removes = workshop.csprof(&["salvage", kept, "--remove", "-f", "-o", "run.csprof"]);
    let complained = removes.complained();
    assert!(complained.contains(": stays, for 1 file of it cannot be read; "), "{complained}");
    fs::remove_dir_all(kept).unwrap();
}
