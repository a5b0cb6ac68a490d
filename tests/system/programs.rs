//! Programs that people use, as they are installed: they say and do the same under csprof, their
//! paths are whole, and the numbers add up.

use std::process::Command;

use csprof_tests::deadline;
use csprof_tests::hazard::{SOURCES, TWO};
use csprof_tests::installed::are_installed;
use csprof_tests::notes::skip;
use csprof_tests::script::{Script, Skipped};
use csprof_tests::workshop::Workshop;

macro_rules! scripts {
    ($($name:ident)*) => {
        $(
            #[test]
            fn $name() {
                behaves(stringify!($name));
            }
        )*

        /// No script is forgotten here.
        #[test]
        fn all_scripts_are_tests() {
            let scripts = Script::all();
            let names: Vec<&str> = scripts.iter().map(|script| script.name.as_str()).collect();
            assert_eq!(names, [$(stringify!($name)),*]);
        }
    };
}

scripts! {
    bash
    bits32
    c_compiler
    cargo
    cgo
    chez
    chicken
    chromium
    clang
    cmake
    compressors
    d
    deno
    ecl
    erlang
    ffmpeg
    gdb_attaches
    gdb_runs_program
    gevent
    ghc
    git
    go
    gprolog
    greenlet
    gromacs
    guile
    gxx
    java
    lammps
    llvm_opt
    luajit
    make
    maxima
    mono
    musl
    nginx
    node
    ocaml
    ocaml_compilers
    octave
    openmp
    openmp_llvm
    openmpi
    pascal
    perl
    postgres
    pypy
    python
    qemu_user
    r
    racket
    ruby
    ruby_callcc
    rustc
    sbcl
    setuid_child
    sqlite
    static_pie
    strace
    tmux
    unison
    valgrind
}

/// Runs a script alone, with each source and with two at once.
fn behaves(name: &str) {
    let script = Script::all().into_iter().find(|script| script.name == name).unwrap();
    let alone = match script.run_alone("programs") {
        Ok(alone) => alone,
        Err(Skipped(reason)) => return skip(name, &reason),
    };
    for source in SOURCES.into_iter().chain([TWO]) {
        let recording = script.record(&alone, source);
        if script.is_native() {
            recording.check_partial_but(&format!("{name} -e {source}"), &script.allowed());
        }
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
    let recording = workshop.record(&["-e", "task-clock@1000"], MPIRUN);
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
