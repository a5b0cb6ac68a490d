//! The real csprof on a real terminal, with a profile that it has just recorded.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use csprof_tests::installed::are_installed;
use csprof_tests::recording::Recording;
use csprof_tests::terminal::Terminal;
use csprof_tests::workshop::Workshop;

use crate::programs::MPIRUN;

/// The line of totals as the report of the same refinement has it: `shown 6.5% + out 93.5% = 100%`.
fn totals(recording: &Recording, refinement: &str) -> String {
    let report = recording.output(&["report", "--refine", refinement]);
    let line = report.lines().find(|line| line.starts_with("shown ")).unwrap();
    assert!(line.ends_with("% = 100%") && line.contains("% + out "), "{line}");
    line.to_owned()
}

#[test]
fn through_mpi_then_memcpy_below_it_by_keys_only() {
    if !are_installed("through_mpi_then_memcpy_below_it_by_keys_only", &["mpicc", "mpirun"]) {
        return;
    }
    let workshop = Workshop::new("viewer");
    workshop.compile("mpicc -O2 -o program @mpi_exchange.c");
    let recording = workshop.record(&["-e", "task-clock@1000"], MPIRUN);
    // glibc has one function for memcpy and memmove, and its symbols say the one or the other.
    let copies = "through {memcpy, memmove}";
    let all = totals(&recording, "through *");
    let in_mpi = totals(&recording, "through MPI_*");
    let copies_in_mpi = totals(&recording, &format!("through MPI_* | {copies}"));
    assert!(in_mpi != all && copies_in_mpi != in_mpi, "{all} {in_mpi} {copies_in_mpi}");

    let mut viewer = Terminal::start(&workshop.path(""), &["view", "run.csprof"]);
    viewer.wait_for(&["shown 100% + out 0% = 100%", "main"]);
    assert!(viewer.screen().alternate_screen());
    viewer.press("fthrough MPI_*\r");
    viewer.wait_for(&["▸ through MPI_*", &in_mpi]);
    viewer.press(&format!("f{copies}\r"));
    viewer.wait_for(&[&copies_in_mpi]);
    // Down the hot path to what it ends in.
    viewer.press("H");
    viewer.wait_for(&["MPI_", &copies_in_mpi]);
    // Back over the hot path and both stages.
    viewer.press("uuu");
    viewer.wait_for(&["shown 100% + out 0% = 100%"]);
    viewer.press("q");
    let (status, left) = viewer.end();
    assert_eq!((status, left.contents().as_str()), (0, ""));
    assert!(!left.alternate_screen() && !left.hide_cursor());
}

/// Ctrl-C at a terminal: to csprof and the program at once.
#[test]
fn ctrl_c_while_recording() {
    let workshop = Workshop::new("ctrl_c");
    workshop.compile("cc -O2 -pthread -o program @endings.c");
    let mut terminal =
        Terminal::start(&workshop.path(""), &["record", "-o", "run.csprof", "./program", "wait"]);
    terminal.wait_for(&["ready"]);
    terminal.press("\x03");
    let (status, left) = terminal.end();
    assert_eq!(status, 130);
    assert!(left.contents().contains("csprof view run.csprof"), "{}", left.contents());
    let info = workshop.csprof(&["info", "run.csprof"]);
    assert!(info.said().contains("exit          killed by signal 2 (SIGINT)"), "{}", info.said());
}

/// Without a terminal, the viewer says what to use instead, and the demo prints a report.
#[test]
fn without_a_terminal() {
    let workshop = Workshop::new("without_a_terminal");
    let demo = workshop.csprof(&["demo", "-o", "demo.csprof"]);
    assert_eq!(demo.status.code(), Some(0), "{}", demo.complained());
    assert!(demo.said().contains("shown 100% + out 0% = 100%"), "{}", demo.said());
    let viewer = workshop.csprof(&["view", "demo.csprof"]);
    assert_eq!(viewer.status.code(), Some(1));
    assert_eq!(
        viewer.complained(),
        "csprof: the viewer needs a terminal, and standard output is none; csprof report prints \
         the same as text\n"
    );
    let recording = Recording::new(demo, workshop.path("demo.csprof"));
    recording.check_partial("demo");
}

/// Quit and open again: as it was left, unless that is not wanted.
#[test]
fn a_profile_opens_where_it_was_left() {
    let workshop = Workshop::new("left");
    workshop.compile("cc -O2 -g -o program @figure1.c");
    let recording = workshop.record(&["-e", "task-clock@1000"], &["./program"]);
    let state = workshop.path("state");
    let variables = [("CSPROF_STATE", state.to_str().unwrap())];
    let open = |options: &[&str], wanted: &[&str]| {
        let arguments = [&["view", "run.csprof"], options].concat();
        let mut viewer = Terminal::start_with(&workshop.path(""), &arguments, &variables);
        viewer.wait_for(wanted);
        viewer
    };
    let quit = |mut viewer: Terminal| {
        viewer.press("\x03");
        assert_eq!(viewer.end().0, 0);
    };
    let mut viewer = open(&[], &["[1 Tree]", "main"]);
    viewer.press("fhide d\r");
    viewer.wait_for(&["▸ hide d"]);
    viewer.press("3");
    viewer.wait_for(&["[3 Flat]"]);
    quit(viewer);
    let file = fs::read_dir(state.join("views")).unwrap().next().unwrap().unwrap().path();
    let mode = |path: &std::path::Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!([mode(&state), mode(&file)], [0o700, 0o600]);
    // As it was left; what the command line says counts more; as at first.
    quit(open(&[], &["[3 Flat]", "▸ hide d"]));
    quit(open(&["--start", "callers"], &["[2 Callers]", "▸ hide d"]));
    quit(open(&["--refine", "hide c"], &["▸ hide c"]));
    let before = fs::read(&file).unwrap();
    quit(open(&["--remember", "false"], &["[1 Tree]", "all call paths"]));
    assert_eq!(fs::read(&file).unwrap(), before);
    // A damaged file is as good as none, and is replaced.
    for damaged in [&before[..before.len() / 2], b"\xff\0", b"", b"{}"] {
        fs::write(&file, damaged).unwrap();
        quit(open(&[], &["[1 Tree]", "cannot be read"]));
        quit(open(&["--fresh"], &["[1 Tree]", "all call paths"]));
    }
    // Another program at the same place.
    workshop.compile("cc -O2 -g -o other @figure1.c");
    let mut viewer = open(&[], &["[1 Tree]"]);
    viewer.press("3");
    viewer.wait_for(&["[3 Flat]"]);
    quit(viewer);
    let other = workshop.csprof(&["record", "-f", "-o", "run.csprof", "./other"]);
    assert_eq!(other.status.code(), Some(0), "{}", other.complained());
    quit(open(&[], &["[1 Tree]", "another program"]));
    // A place that cannot be written disturbs nobody.
    let nowhere = [("CSPROF_STATE", "/proc/none"), ("HOME", "/nowhere")];
    let arguments = ["view", "run.csprof"];
    let mut viewer = Terminal::start_with(&workshop.path(""), &arguments, &nowhere);
    viewer.wait_for(&["[1 Tree]"]);
    quit(viewer);
    drop(recording);
}

/// A path that is to be fixed says in the next run what became of it.
#[test]
fn the_ledger_says_what_was_gained() {
    let workshop = Workshop::new("ledger");
    workshop.compile("cc -O2 -g -o program @figure1.c");
    let recording = workshop.record(&["-e", "task-clock@1000"], &["./program"]);
    let state = workshop.path("state");
    let config = workshop.path("config");
    fs::create_dir(&config).unwrap();
    let variables =
        [("CSPROF_STATE", state.to_str().unwrap()), ("XDG_CONFIG_HOME", config.to_str().unwrap())];
    let ledger = |file: &str, format: &str| {
        let mut command = std::process::Command::new(csprof_tests::binary::csprof());
        command.args(["ledger", file, "--format", format]).current_dir(workshop.path(""));
        let output = command.envs(variables).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    assert!(ledger("run.csprof", "text").contains("The ledger is empty"));
    let arguments = ["view", "run.csprof"];
    let mut viewer = Terminal::start_with(&workshop.path(""), &arguments, &variables);
    viewer.wait_for(&["[1 Tree]", "main"]);
    viewer.press("/main\rX50%\r");
    viewer.wait_for(&["entered in the ledger"]);
    viewer.press(":save-refinement hot\r");
    viewer.wait_for(&["there are no stages to save"]);
    viewer.press("fhide d\r");
    viewer.wait_for(&["▸ hide d"]);
    viewer.press(":save-refinement hot\r");
    viewer.wait_for(&["@hot is saved in"]);
    viewer.press(":clear\r");
    viewer.wait_for(&["all call paths"]);
    viewer.press(":apply hot\r");
    viewer.wait_for(&["▸ hide d"]);
    viewer.press(":clear\r");
    viewer.wait_for(&["all call paths"]);
    viewer.press("\"too slow\r");
    viewer.wait_for(&["noted", "●"]);
    viewer.press("'");
    viewer.wait_for(&["to be fixed; saves", "too slow"]);
    viewer.press("\x03");
    assert_eq!(viewer.end().0, 0);
    let saved = fs::read_to_string(config.join("csprof/refinements")).unwrap();
    assert_eq!(saved, "@hot = hide d\n");
    let mut command = std::process::Command::new(csprof_tests::binary::csprof());
    command.args(["report", "run.csprof", "--refine", "@hot"]).current_dir(workshop.path(""));
    let report = String::from_utf8(command.envs(variables).output().unwrap().stdout).unwrap();
    assert!(report.contains("refined: hide d\n"), "{report}");
    let own = ledger("run.csprof", "text");
    assert!(own.contains("to be fixed") && !own.contains("before"), "{own}");
    let again =
        workshop.csprof(&["record", "-o", "next.csprof", "-e", "task-clock@1000", "./program"]);
    assert_eq!(again.status.code(), Some(0), "{}", again.complained());
    let next = ledger("next.csprof", "text");
    assert!(next.contains("before ") && next.contains("noise"), "{next}");
    assert!(ledger("next.csprof", "markdown").contains("| to be fixed |"));
    assert!(ledger("next.csprof", "json").contains("\"significant\""));
    let longer = workshop.csprof(&["record", "-o", "longer.csprof", "./program", "x"]);
    assert!(longer.status.code().is_some());
    let longer = ledger("longer.csprof", "text");
    assert!(longer.contains("not comparable: "), "{longer}");
    // A damaged file is told and stays: what it has may be worth something.
    let file = fs::read_dir(state.join("notes")).unwrap().flatten().map(|entry| entry.path());
    let file = { file }.find(|path| path.extension().is_some()).unwrap();
    let whole = fs::read(&file).unwrap();
    fs::write(&file, &whole[..whole.len() / 2]).unwrap();
    let mut command = std::process::Command::new(csprof_tests::binary::csprof());
    command.args(["ledger", "next.csprof"]).current_dir(workshop.path("")).envs(variables);
    let output = command.output().unwrap();
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert_eq!((output.status.code(), output.stdout.len()), (Some(1), 0), "{complaint}");
    assert!(complaint.contains("notes on this program cannot be read"), "{complaint}");
    assert_eq!(fs::read(&file).unwrap().len(), whole.len() / 2);
    drop(recording);
}
