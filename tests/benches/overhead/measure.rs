//! CPU time of one run: of the program, and of everything that profiling it takes.
//!
//! The program is started by this very binary (`--target FILE PROGRAM…`), which the profiler
//! starts: so it is pinned to its CPU, and its own CPU time is told apart from the profiler's by
//! getrusage(2) for children, in the same way for each tool.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use csprof_tests::workshop::Workshop;
use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;
use nix::unistd::Pid;

use crate::programs::Program;
use crate::tools::Tool;

/// The first word for this binary when it is to start a program and measure it.
pub(crate) const TARGET: &str = "--target";

/// CPU time of one run, user and system, in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cost {
    /// Of the program.
    pub target_ns: u64,
    /// Of the program and of all that profiling it started.
    pub total_ns: u64,
}

/// Runs `program` under `tool`, which leaves its data at `out`.
pub(crate) fn cost(workshop: &Workshop, tool: &Tool, program: &Program, out: &Path) -> Cost {
    let measured = workshop.path("measured");
    let this = std::env::current_exe().expect("this program");
    let target = [this.to_str().expect("UTF-8"), TARGET, measured.to_str().expect("UTF-8")];
    let words = tool.command(program, &target, out);
    let before = children_ns();
    let status = workshop
        .command(&words[0])
        .args(&words[1..])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .unwrap_or_else(|error| panic!("{words:?}: {error}"));
    assert!(status.success(), "{words:?}: {status}");
    let total_ns = children_ns() - before;
    let target_ns = fs::read_to_string(&measured).expect("what the program took");
    Cost { target_ns: target_ns.trim().parse().expect("nanoseconds"), total_ns }
}

/// Starts a program on the last CPU that is allowed and writes its CPU time to a file. The result
/// is the program's status.
pub(crate) fn run_target(words: &[String]) -> i32 {
    let [file, program, arguments @ ..] = words else {
        panic!("{TARGET} FILE PROGRAM [ARGUMENT...]");
    };
    let this = Pid::from_raw(0);
    let allowed = sched_getaffinity(this).expect("the CPUs of this process");
    let last = (0..CpuSet::count()).rfind(|&cpu| allowed.is_set(cpu) == Ok(true));
    let mut one = CpuSet::new();
    one.set(last.expect("a CPU")).expect("a CPU in range");
    sched_setaffinity(this, &one).expect("one of the allowed CPUs");
    let before = children_ns();
    let status = Command::new(program).args(arguments).status().expect("a program that starts");
    fs::write(file, (children_ns() - before).to_string()).expect("a file for the result");
    status.code().unwrap_or(1)
}

/// CPU time of all children that this process has waited for, and of theirs.
fn children_ns() -> u64 {
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN).expect("usage");
    let time = usage.user_time() + usage.system_time();
    time.num_nanoseconds().cast_unsigned()
}
