//! Programs that were started without csprof, sampled while they run.

use std::fs;
use std::process::Child;

use csprof_format::profile::Origin;
use csprof_tests::deadline::{self, Outcome};
use csprof_tests::notes::skip;
use csprof_tests::paths::is_share;
use csprof_tests::recording::Recording;
use csprof_tests::workshop::Workshop;

/// CPU time after which a program ends by itself, in milliseconds: a good part is left when csprof
/// begins to look, on a busy machine, too.
const LASTS: &str = "2000";

/// A program that ends after a while.
struct Program {
    test: &'static str,
    workshop: Workshop,
    child: Child,
}

impl Program {
    /// Compiles the workload with these options, and starts it to run in this way.
    fn start(test: &'static str, options: &str, way: &str) -> Self {
        Self::lasting(test, options, way, LASTS)
    }

    fn lasting(test: &'static str, options: &str, way: &str, lasts: &str) -> Self {
        let workshop = Workshop::new(test);
        workshop.compile(&format!("cc -g -pthread {options} -o program @outside.c"));
        let child = deadline::start(workshop.command("./program").args([way, lasts]));
        Self { test, workshop, child }
    }

    fn csprof(&self, options: &[&str]) -> Outcome {
        let pid = self.child.id().to_string();
        let words = [&["record", "-p", &pid, "-f", "-o", "run.csprof"][..], options].concat();
        self.workshop.csprof(&words)
    }

    /// Records it to its end; `None` if the machine does not permit that.
    fn record(self, options: &[&str]) -> Option<Recording> {
        let outcome = self.csprof(options);
        let (test, workshop) = (self.test, &self.workshop);
        let ended = deadline::finish(self.child, &workshop.command("./program"));
        assert!(matches!(ended.status.code(), Some(0 | 3)), "{}", ended.complained());
        if outcome.complained().contains("cannot be sampled from outside") {
            skip(test, outcome.complained().trim());
            return None;
        }
        assert_eq!(outcome.status.code(), Some(0), "{}", outcome.complained());
        Some(Recording::new(outcome, workshop.path("run.csprof")))
    }
}

#[test]
fn shares_of_a_program_that_runs_are_right_and_it_has_no_edges() {
    let program = Program::start("outside_shares", "-O2", "shares");
    let Some(run) = program.record(&["-e", "task-clock@1000"]) else {
        return;
    };
    let rows = run.rows();
    let (one, three) = (rows.inclusive_of("one"), rows.inclusive_of("three"));
    assert!(one + three > 150, "{rows}");
    assert!(is_share(three, one + three, 75), "{one} and {three}: {rows}");
    assert!(rows.at(&["main", "three"]).inclusive == three, "{rows}");
    assert!(rows.iter().all(|row| row.edges.is_none()), "{rows}");
    run.check_partial("a program with unwind tables");
    // It did not start it, and says so.
    let info = run.output(&["info"]);
    assert!(info.contains("exit          unknown: sampled from outside"), "{info}");
    assert!(info.contains("off  edge counts: sampled from outside"), "{info}");
    let said = run.outcome.complained();
    assert!(said.contains("warning: sampled from outside: no edge counts"), "{said}");
    assert!(said.contains("csprof view run.csprof"), "{said}");
    // All of the time that was sampled has been seen.
    assert!(run.missed() <= run.samples().recorded / 20 + 2, "{} of {info}", run.missed());
}

#[test]
fn a_recursion_has_its_depth() {
    let program = Program::start("outside_depth", "-O2 -fno-optimize-sibling-calls", "depth");
    let Some(run) = program.record(&[]) else { return };
    let rows = run.rows();
    let down: Vec<_> = rows.iter().filter(|row| row.function == "down").collect();
    assert_eq!(down.len(), 40, "{rows}");
    let bottom = rows.at(&["down", "bottom"]);
    assert!(bottom.inclusive > 20 && bottom.depth >= 41, "{rows}");
    run.check_partial("a program with unwind tables");
}

#[test]
fn a_stack_deeper_than_its_copy_has_a_partial_path() {
    let options = "-O2 -fno-optimize-sibling-calls";
    let program = Program::start("outside_deep", options, "deep");
    let Some(run) = program.record(&["--stack-copy", "4k"]) else { return };
    let samples = run.samples();
    assert!(samples.partial == samples.recorded && samples.partial > 20, "{samples:?}");
    let reasons = run.partial_reasons();
    assert!(reasons.starts_with("stack-copy: ") && reasons.lines().count() == 1, "{reasons}");
    // Its innermost calls are there.
    assert!(run.rows().inclusive_of("bottom") > 20);
}

#[test]
fn frame_pointers_lead_to_callers_without_a_copy_of_the_stack() {
    // Optimized, gcc gives leaves no frame whatever it is told.
    let options = "-O0 -fno-omit-frame-pointer";
    let program = Program::start("outside_frame_pointers", options, "depth");
    let Some(run) = program.record(&["--unwind", "frame-pointers"]) else {
        return;
    };
    let rows = run.rows();
    let down = rows.iter().filter(|row| row.function == "down").count();
    assert_eq!(down, 40, "{rows}");
    assert!(rows.at(&["down", "bottom"]).inclusive > 20, "{rows}");
}

#[test]
fn threads_that_begin_later_are_sampled() {
    let program = Program::start("outside_threads", "-O2", "threads");
    let Some(run) = program.record(&[]) else { return };
    // 20 ms each.
    let sampled = run.profile.threads.iter().filter(|thread| thread.recorded > 0).count();
    assert!(sampled > 5, "{sampled} of {}", run.profile.threads.len());
    assert!(run.rows().inclusive_of("later") > 20);
}

#[test]
fn children_are_sampled_and_so_is_what_they_execute() {
    for (test, way) in [("outside_forks", "forks"), ("outside_execs", "execs")] {
        let program = Program::start(test, "-O2", way);
        let Some(run) = program.record(&[]) else { return };
        assert!(run.rows().inclusive_of("child_work") > 20, "{way}");
        let processes = &run.profile.processes;
        let of = |origin| processes.iter().filter(|process| process.origin == origin).count();
        assert!(of(Origin::Fork) > 5, "{way}");
        assert_eq!(of(Origin::Exec) > 5, way == "execs");
        // Whoever executes another program has its code from then on.
        run.check_partial(way);
    }
}

#[test]
fn a_thousand_threads_are_sampled() {
    let program = Program::lasting("outside_crowd", "-O2", "crowd", "500");
    let Some(run) = program.record(&["-e", "task-clock@100us", "--stack-copy", "1k"]) else {
        return;
    };
    let said = run.outcome.complained();
    if said.contains("may not open as many files") {
        return skip("outside_crowd", said.trim());
    }
    // The program may still be beginning threads.
    let sampled = run.profile.threads.iter().filter(|thread| thread.recorded > 0).count();
    assert!(sampled > 400, "{sampled} of {}: {said}", run.profile.threads.len());
}

#[test]
fn generated_code_has_the_names_of_its_perf_map() {
    let mut program = Program::lasting("outside_generated", "-O2", "generated", "600000");
    // Whoever has ended says no names.
    let outcome = program.csprof(&["--duration", "3s"]);
    program.child.kill().unwrap();
    program.child.wait().unwrap();
    fs::remove_file(format!("/tmp/perf-{}.map", program.child.id())).unwrap();
    if outcome.complained().contains("cannot be sampled from outside") {
        return skip(program.test, outcome.complained().trim());
    }
    let run = Recording::new(outcome, program.workshop.path("run.csprof"));
    let rows = run.rows();
    assert!(rows.inclusive_of("made_at_run_time") > 0, "{rows}");
    // Who called it is not known: nobody says how it uses the stack.
    assert!(run.partial_reasons().contains("unknown-module: "), "{rows}");
}

#[test]
fn several_events_are_several_metrics() {
    let program = Program::start("outside_events", "-O2", "forks");
    let sources = ["-e", "cputime", "-e", "page-faults@10"];
    let Some(run) = program.record(&sources) else { return };
    let metrics: Vec<_> = run.profile.metrics().map(|metric| metric.unit.as_str()).collect();
    assert_eq!(metrics, ["ns", "page-faults"]);
    let faults: u64 = run.profile.further[0].samples.iter().map(|(_, samples)| samples).sum();
    assert!(faults > 10, "{faults}");
}

#[test]
fn the_program_s_end_ends_the_recording() {
    let program = Program::start("outside_end", "-O2", "ends");
    let Some(run) = program.record(&["--times"]) else { return };
    assert!(run.rows().inclusive_of("burn") > 20);
    assert!(!run.profile.times.is_empty());
    assert!(run.profile.processes[0].end_ns > 0);
}

#[test]
fn a_program_goes_on_when_its_recording_ends() {
    let mut program = Program::lasting("outside_duration", "-O2", "shares", "600000");
    let outcome = program.csprof(&["--delay", "100ms", "--duration", "300ms"]);
    assert!(program.child.try_wait().unwrap().is_none());
    program.child.kill().unwrap();
    program.child.wait().unwrap();
    if outcome.complained().contains("cannot be sampled from outside") {
        return skip(program.test, outcome.complained().trim());
    }
    assert_eq!(outcome.status.code(), Some(0), "{}", outcome.complained());
    let run = Recording::new(outcome, program.workshop.path("run.csprof"));
    assert!(run.profile.run.duration_ns >= 300_000_000);
}

#[test]
fn what_cannot_be_sampled_from_outside_is_one_clear_line() {
    let workshop = Workshop::new("outside_errors");
    let told = |words: &[&str], status: i32| {
        let outcome = workshop.csprof(&[&["record"], words].concat());
        let said = outcome.complained();
        assert_eq!(outcome.status.code(), Some(status), "{words:?}: {said}");
        assert!(said.starts_with("csprof: "), "{words:?}: {said}");
        said
    };
    assert_eq!(told(&["-p", "4194304"], 125), "csprof: there is no process 4194304\n");
    let own = std::process::id().to_string();
    for (source, why) in [
        ("alloc", "counts calls in the program"),
        ("io-read", "counts calls in the program"),
        ("lock", "counts calls in the program"),
        ("resource:rows", "counts calls in the program"),
        ("realtime", "counts while threads wait"),
    ] {
        let said = told(&["-p", &own, "-e", source], 2);
        assert!(said.contains(&format!("-e {source}: {why}")), "{said}");
        assert!(said.contains("csprof prepare, then csprof attach"), "{said}");
        assert_eq!(said.lines().count(), 1, "{said}");
    }
    let both = told(&["-p", &own, "-e", "alloc", "-e", "realtime"], 2);
    assert_eq!(both.lines().count(), 2, "{both}");
    let program = told(&["-p", &own, "./program"], 2);
    assert!(program.contains("PROG is for programs that csprof starts"), "{program}");
    let waits = told(&["-p", &own, "--wait"], 2);
    assert!(waits.contains("--wait is for programs that csprof starts"), "{waits}");
    let copied = told(&["-p", &own, "--unwind", "frame-pointers", "--stack-copy", "8k"], 2);
    assert!(copied.contains("leave out --stack-copy"), "{copied}");

    // The kernel's, where they are seen: in a container they are not.
    if fs::read_to_string("/proc/2/comm").is_ok_and(|name| name == "kthreadd\n") {
        assert!(told(&["-p", "2"], 125).contains("(kthreadd) is a thread of the kernel"));
    }
    // One that has ended, and is not waited for.
    let mut ended = workshop.command("true").spawn().unwrap();
    let pid = ended.id().to_string();
    while !fs::read_to_string(format!("/proc/{pid}/stat")).unwrap().contains(") Z ") {}
    assert!(told(&["-p", &pid], 125).contains("(true) has ended"));
    ended.wait().unwrap();
}

/// csprof is in it already, and can do better.
#[test]
fn a_program_of_csprof_s_own_is_sampled_from_inside() {
    let workshop = Workshop::new("outside_own");
    workshop.compile("cc -O2 -g -pthread -o program @outside.c");
    let mut command = workshop.csprof_command();
    command.args(["prepare", "./program", "shares", "600000"]);
    let mut child = deadline::start(&mut command);
    let pid = child.id().to_string();
    while !fs::read_to_string(format!("/proc/{pid}/comm")).unwrap().starts_with("program") {}
    let outcome = workshop.csprof(&["record", "-p", &pid]);
    let said = outcome.complained();
    assert_eq!(outcome.status.code(), Some(125), "{said}");
    assert!(said.contains(&format!("csprof attach {pid}")), "{said}");
    child.kill().unwrap();
    child.wait().unwrap();
}
