//! Programs that people use, as they are installed: they say and do the same under csprof, their
//! paths are whole, and the numbers add up.

use std::fs;
use std::path::Path;
use std::process::Command;

use csprof_tests::deadline;
use csprof_tests::installed::are_installed;
use csprof_tests::notes::note;
use csprof_tests::recording::Recording;
use csprof_tests::workshop::Workshop;

/// Rates at which each program runs: the default, and one that few kernels tick at.
const SOURCES: [&str; 2] = ["cputime@200", "task-clock@1000"];

#[test]
fn python() {
    if are_installed("python", &["python3"]) {
        let workshop = Workshop::new("python");
        // What `python3` is may be a script that chooses one.
        let python = workshop.run(&["python3", "-c", "import sys; print(sys.executable)"]).said();
        let script = workload("queens.py");
        behaves(&workshop, &[python.trim(), &script, "12"], None);
    }
}

#[test]
fn compiler() {
    if are_installed("compiler", &["g++"]) {
        let workshop = Workshop::new("compiler");
        let source = workload("templates.cpp");
        behaves(&workshop, &["g++", "-O2", "-c", &source, "-o", "out.o"], Some("out.o"));
    }
}

#[test]
fn xz() {
    if are_installed("xz", &["xz"]) {
        let workshop = Workshop::new("xz");
        fs::write(workshop.path("text"), text(3_000_000)).unwrap();
        behaves(
            &workshop,
            &["xz", "-9", "-T2", "--block-size=1MiB", "-kf", "text"],
            Some("text.xz"),
        );
    }
}

#[test]
fn gzip() {
    if are_installed("gzip", &["gzip"]) {
        let workshop = Workshop::new("gzip");
        fs::write(workshop.path("text"), text(6_000_000)).unwrap();
        behaves(&workshop, &["gzip", "-9", "-c", "text"], None);
    }
}

#[test]
fn perl() {
    if are_installed("perl", &["perl"]) {
        let workshop = Workshop::new("perl");
        fs::write(workshop.path("text"), text(8_000_000)).unwrap();
        behaves(&workshop, &["perl", &workload("words.pl"), "text"], None);
    }
}

#[test]
fn sqlite() {
    if are_installed("sqlite", &["sqlite3"]) {
        let workshop = Workshop::new("sqlite");
        let read = format!(".read {}", workload("tables.sql"));
        behaves(&workshop, &["sqlite3", ":memory:", &read], None);
    }
}

/// Ranks are in the profile by number, each with its samples and with MPI on its paths.
#[test]
fn open_mpi() {
    if !are_installed("open_mpi", &["mpicc", "mpirun"]) {
        return;
    }
    let workshop = Workshop::new("open_mpi");
    workshop.compile("mpicc -O2 -o program @mpi_exchange.c");
    let recording = behaves(&workshop, MPIRUN, None);
    let mut ranks = recording.profile.processes.iter().filter_map(|process| process.rank);
    let (mut seen, rest) = ([ranks.next(), ranks.next()], ranks.next());
    seen.sort_unstable();
    assert_eq!((seen, rest), ([Some(0), Some(1)], None));
    for rank in 0..2 {
        let rows = recording.refined(&format!("rank = {rank}"));
        for function in ["exchange", "compute", "keep"] {
            assert!(rows.inclusive_of(function) > 0, "no {function} in rank {rank}:\n{rows}");
        }
    }
    // Which rank waits for the other, and in which call, differs from run to run.
    let rows = recording.refined("through MPI_*");
    for function in ["MPI_Send", "MPI_Recv"] {
        assert!(rows.inclusive_of(function) > 0, "no {function}:\n{rows}");
    }
}

/// Messages are copied through shared memory by the library itself, so that it calls memcpy.
pub(crate) const MPIRUN: &[&str] = &[
    "mpirun",
    "--allow-run-as-root",
    "--oversubscribe",
    "--mca",
    "btl_vader_single_copy_mechanism",
    "none",
    "-np",
    "2",
    "./program",
];

/// Runs a command alone and with each source: same output, same status, and the same content of
/// the file that it makes. Returns the last recording.
fn behaves(workshop: &Workshop, words: &[&str], makes: Option<&str>) -> Recording {
    let made = || makes.map(|file| fs::read(workshop.path(file)).unwrap());
    let alone = workshop.run(words);
    assert!(alone.status.success(), "{words:?}: {}", alone.complained());
    let made_alone = made();
    let recorded = SOURCES.map(|source| {
        let recording = workshop.record(&["-e", source], words);
        let (with, without) = (&recording.outcome, &alone);
        assert!(with.stdout == without.stdout, "{words:?} -e {source}: {}", with.said());
        assert_eq!(with.status, without.status, "{words:?} -e {source}: {}", with.complained());
        assert!(made() == made_alone, "{words:?} -e {source} makes another file");
        recording.check_partial(&format!("{} -e {source}", words[0]));
        is_sampled_by(&recording, source);
        recording
    });
    recorded.into_iter().next_back().unwrap()
}

/// What was asked for, or, where perf events are forbidden, CPU time and a message about it.
fn is_sampled_by(recording: &Recording, source: &str) {
    let name = source.split('@').next().unwrap();
    let sampled = recording.info["sources"][0]["name"].as_str().unwrap();
    if sampled != name {
        assert_eq!((name, sampled), ("task-clock", "cputime"));
        let messages = recording.messages();
        assert!(messages.contains("perf"), "no word about why it is {sampled}: {messages}");
        note(&format!("-e {source} fell back to {sampled}"));
    }
}

fn workload(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("workloads/real");
    folder.join(name).to_str().unwrap().to_owned()
}

/// A text of at least so many bytes, always the same: words and numbers chosen by Knuth's linear
/// congruential generator.
fn text(bytes: usize) -> String {
    const WORDS: [&str; 16] = [
        "profile", "return", "address", "sample", "period", "epoch", "module", "frame", "path",
        "node", "edge", "tree", "loss", "signal", "thread", "stack",
    ];
    let mut text = String::with_capacity(bytes + 32);
    let mut state = 1u64;
    while text.len() < bytes {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        text.push_str(WORDS[(state >> 60) as usize]);
        if state >> 40 & 3 == 0 {
            text.push_str(&(state >> 20 & 0xfff).to_string());
        }
        text.push(if state >> 50 & 7 == 0 { '\n' } else { ' ' });
    }
    text
}

/// `csprof` itself can be recorded: a program of many threads, written in Rust, that starts others.
#[test]
fn csprof_records_csprof() {
    let workshop = Workshop::new("csprof_records_csprof");
    workshop.compile("cc -O2 -pthread -o program @endings.c");
    let inner = workshop.csprof_command();
    let csprof = inner.get_program().to_str().unwrap();
    let words = [csprof, "record", "-f", "-o", "inner.csprof", "./program", "abort"];
    let recording = workshop.record(&[], &words);
    assert_eq!(recording.outcome.status.code(), Some(134), "{}", recording.outcome.complained());
    let inner = deadline::run(Command::new(csprof).arg("info").arg(workshop.path("inner.csprof")));
    assert!(inner.status.success() && inner.said().contains("./program abort"), "{inner:?}");
}
