//! Programs looked at while they run.

use std::fs;
use std::time::Instant;

use csprof_tests::deadline::{self, DEADLINE, Running};
use csprof_tests::terminal::Terminal;
use csprof_tests::workshop::Workshop;

/// Starts a program that runs until the file `stop` is there; csprof's process is the run's name.
fn start(workshop: &Workshop) -> (Running, String) {
    workshop.compile("cc -O2 -g -o program @until_told.c");
    let mut command = workshop.csprof_command();
    command.args(["record", "-q", "-f", "-o", "run.csprof", "./program", "stop"]);
    let child = deadline::start(&mut command);
    let name = child.id().to_string();
    (child, name)
}

fn stop(workshop: &Workshop, child: Running) {
    fs::write(workshop.path("stop"), "").unwrap();
    let outcome = deadline::finish(child, &workshop.csprof_command());
    assert_eq!((outcome.status.code(), outcome.said().as_str()), (Some(0), "told\n"));
}

/// The samples that a report tells in its second line: `145 samples of cputime, …`.
fn samples(report: &str) -> u64 {
    let words = report.lines().nth(1).unwrap_or_default();
    words.split(" sample").next().unwrap().replace(' ', "").parse().unwrap_or(0)
}

/// The report of a run, once it is as wanted.
fn report_with(workshop: &Workshop, name: &str, is_wanted: impl Fn(&str) -> bool) -> String {
    let begin = Instant::now();
    loop {
        let report = workshop.csprof(&["report", name]);
        if report.status.success() && is_wanted(&report.said()) {
            return report.said();
        }
        let said = (report.said(), report.complained());
        assert!(begin.elapsed() < DEADLINE, "never as wanted: {said:?}");
    }
}

/// Reports of a run that goes on grow, and say that it goes on.
#[test]
fn a_report_of_a_program_that_runs() {
    let workshop = Workshop::new("live_report");
    let (child, name) = start(&workshop);
    let report = |wanted: u64| {
        // Just started, there is nothing yet.
        report_with(&workshop, &name, |report| samples(report) >= wanted)
    };
    let first = report(5);
    assert!(first.contains(", while it runs, after "), "{first}");
    assert!(first.contains("busy") && first.contains("until_told.c"), "{first}");
    let later = report(samples(&first) + 1);
    assert!(later.contains(", while it runs, after "), "{later}");
    let info = workshop.csprof(&["info", &name]).said();
    assert!(info.contains("exit          none when it was read"), "{info}");
    assert!(info.contains("the run goes on (1 process of it is running)"), "{info}");
    let top = workshop.csprof(&["top", &name]).said();
    let row = top.lines().find(|line| line.ends_with("  busy"));
    assert!(row.is_some_and(|row| row.contains("ms") || row.contains(" s")), "{top}");
    stop(&workshop, child);
    let saved = workshop.csprof(&["report", "run.csprof"]).said();
    assert!(samples(&saved) > samples(&first) && !saved.contains("while it runs"), "{saved}");
    let ended = workshop.csprof(&["report", &name]);
    assert_eq!(ended.status.code(), Some(1));
    assert_eq!(ended.complained(), format!("csprof: there is no process {name}\n"));
}

/// Numbers grow under an open screen, which stands still when it is told to; the stages stay; the
/// end is told.
#[test]
fn a_program_is_looked_at_until_it_ends() {
    let workshop = Workshop::new("live_view");
    let (child, name) = start(&workshop);
    let _ = report_with(&workshop, &name, |report| report.contains("busy"));
    let mut viewer = Terminal::start(&workshop.path(""), &["view", "--live", &name]);
    viewer.wait_for(&[" live ", "program", "[1 Tree]", "busy"]);
    viewer.press("fthrough busy\r");
    viewer.wait_for(&["▸ through busy", " live "]);
    viewer.press(" ");
    viewer.wait_for(&[" frozen ", "▸ through busy"]);
    viewer.press(" ");
    viewer.wait_for(&[" live ", "▸ through busy"]);
    viewer.press("W");
    // Samples came since.
    viewer.wait_for(&["per s", "total", "since", "+", "▸ through busy"]);
    stop(&workshop, child);
    viewer.wait_for(&[" ended, ", "the program has ended", "▸ through busy"]);
    viewer.press("q");
    assert_eq!(viewer.end().0, 0);
}

/// What is no run that goes on is told in one line.
#[test]
fn what_does_not_run_is_told() {
    let workshop = Workshop::new("live_errors");
    let folder = workshop.path("");
    let folder = folder.to_str().unwrap();
    let told = |words: &[&str]| {
        let outcome = workshop.csprof(words);
        assert_eq!(outcome.status.code(), Some(1), "{words:?}");
        outcome.complained()
    };
    // Process ids end at 2^22 (proc_sys_kernel(5), pid_max).
    for command in [&["report"][..], &["view", "--live"], &["top"], &["info"]] {
        let words = [command, &["4194305"]].concat();
        assert_eq!(told(&words), "csprof: there is no process 4194305\n");
    }
    let text = told(&["view", "--live", folder]);
    assert!(text.contains("is no run folder of csprof") && text.lines().count() == 1, "{text}");
    let text = told(&["report", "/dev/shm/csprof-4194305-a1b2c3"]);
    assert!(text.contains("there is no such run folder; the run has ended"), "{text}");
    let own = std::process::id().to_string();
    let text = told(&["view", "--live", &own]);
    assert!(text.contains("was not started by csprof record"), "{text}");
}
