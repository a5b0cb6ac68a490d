//! The real csprof on a real terminal, with a profile that it has just recorded.

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
    assert!(info.said().contains("exit        killed by signal 2 (SIGINT)"), "{}", info.said());
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
