//! Programs that were started without csprof, sampled while they run.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use csprof_format::profile::Origin;
use csprof_tests::deadline::{self, Outcome};
use csprof_tests::notes::skip;
use csprof_tests::paths::{Rows, is_share};
use csprof_tests::recording::{FEW_PARTIAL, Recording, Samples};
use csprof_tests::workshop::Workshop;

/// A program that runs until it is told to stop.
struct Program {
    test: &'static str,
    workshop: Workshop,
    /// Until it has ended.
    child: Option<Child>,
}

impl Drop for Program {
    fn drop(&mut self) {
        // A test that has failed leaves nothing that works for ever.
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Waits until it is so.
fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < deadline::DEADLINE, "never {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

impl Program {
    /// Compiles the workload with these options, and starts it to run in this way.
    fn start(test: &'static str, options: &str, way: &str) -> Self {
        let workshop = Workshop::new(test);
        workshop.compile(&format!("cc -g -pthread {options} -o program @outside.c"));
        let child = Some(deadline::start(workshop.command("./program").args([way, "stop"])));
        let program = Self { test, workshop, child };
        wait_until("at work", || program.workshop.path("begun").exists());
        program
    }

    fn pid(&self) -> String {
        self.child.as_ref().unwrap().id().to_string()
    }

    /// CPU time that it has used (proc(5), stat: utime and stime, in ticks of 10 ms).
    fn cpu_time_ms(&self) -> u64 {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.pid())).unwrap();
        let (_, behind_name) = stat.rsplit_once(')').unwrap();
        let ticks = behind_name.split_whitespace().skip(11).take(2);
        ticks.map(|ticks| ticks.parse::<u64>().unwrap() * 10).sum()
    }

    fn csprof(&self, options: &[&str]) -> Outcome {
        let pid = self.pid();
        let words = [&["record", "-p", &pid, "-f", "-o", "run.csprof"][..], options].concat();
        self.workshop.csprof(&words)
    }

    /// Records it and ends it; `None` if the machine does not permit that.
    fn record(self, options: &[&str]) -> Option<Recording> {
        let outcome = self.csprof(options);
        self.end(outcome)
    }

    /// Ends it; what was recorded of it.
    fn end(mut self, outcome: Outcome) -> Option<Recording> {
        let (test, workshop) = (self.test, &self.workshop);
        fs::write(workshop.path("stop"), "").unwrap();
        let child = self.child.take().unwrap();
        let ended = deadline::finish(child, &workshop.command("./program"));
        assert!(matches!(ended.status.code(), Some(0 | 3)), "{}", ended.complained());
        if outcome.complained().contains("cannot be sampled from outside") {
            skip(test, outcome.complained().trim());
            return None;
        }
        assert_eq!(outcome.status.code(), Some(0), "{}", outcome.complained());
        Some(Recording::new(outcome, workshop.path("run.csprof")))
    }
}

/// For so long a test looks at a program.
const WHILE: [&str; 2] = ["--duration", "1500ms"];

/// And for so long at one that begins others in turn: at a tenth of a processor, a second and a
/// half may be too short for six of them.
const LONGER: [&str; 2] = ["--duration", "3s"];

/// Whether so many samples are at least half of the CPU time that the kernel has counted: how much
/// that is in a second, other programs decide.
fn is_most(samples: u64, run: &Recording) -> bool {
    samples > 5 && samples * 2 * run.profile.metric.period >= run.profile.run.cpu_ns
}

#[test]
fn shares_of_a_program_that_runs_are_right_and_it_has_no_edges() {
    let program = Program::start("outside_shares", "-O2", "shares");
    let Some(run) = program.record(&["-e", "task-clock@1000", "--duration", "1500ms"]) else {
        return;
    };
    let rows = run.rows();
    let (one, three) = (rows.inclusive_of("one"), rows.inclusive_of("three"));
    assert!(is_most(one + three, &run), "{rows}");
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
    let Some(run) = program.record(&WHILE) else { return };
    let rows = run.rows();
    let down: Vec<_> = rows.iter().filter(|row| row.function == "down").collect();
    assert_eq!(down.len(), 40, "{rows}");
    let bottom = rows.at(&["down", "bottom"]);
    assert!(is_most(bottom.inclusive, &run) && bottom.depth >= 41, "{rows}");
    run.check_partial("a program with unwind tables");
}

#[test]
fn a_stack_deeper_than_its_copy_has_a_partial_path() {
    let options = "-O2 -fno-optimize-sibling-calls";
    let program = Program::start("outside_deep", options, "deep");
    let Some(run) = program.record(&["--stack-copy", "4k", "--duration", "1s"]) else { return };
    let samples = run.samples();
    assert!(samples.partial == samples.recorded && is_most(samples.partial, &run), "{samples:?}");
    let reasons = run.partial_reasons();
    assert!(reasons.starts_with("stack-copy: ") && reasons.lines().count() == 1, "{reasons}");
    // Its innermost calls are there.
    assert!(is_most(run.rows().inclusive_of("bottom"), &run));
}

#[test]
fn frame_pointers_lead_to_callers_without_a_copy_of_the_stack() {
    // With -O1 gcc leaves the frame pointer of a function out that calls nothing and keeps nothing
    // on the stack, whatever it is told, and so the caller of `burn` would be missing.
    let options = "-O0 -fno-omit-frame-pointer";
    let program = Program::start("outside_frame_pointers", options, "depth");
    let Some(run) = program.record(&["--unwind", "frame-pointers", "--duration", "1s"]) else {
        return;
    };
    let rows = run.rows();
    let down = rows.iter().filter(|row| row.function == "down").count();
    assert_eq!(down, 40, "{rows}");
    assert!(is_most(rows.at(&["down", "bottom"]).inclusive, &run), "{rows}");
}

#[test]
fn a_process_goes_on_when_its_main_thread_has_ended() {
    let program = Program::start("outside_orphans", "-O2", "orphans");
    let stat = format!("/proc/{}/stat", program.pid());
    wait_until("alone", || fs::read_to_string(&stat).unwrap().contains(") Z "));
    let Some(run) = program.record(&["--duration", "1s"]) else { return };
    assert!(is_most(run.rows().inclusive_of("orphan"), &run), "{}", run.rows());
    run.check_partial("a program with unwind tables");
    let info = run.output(&["info"]);
    assert!(info.contains("./program orphans stop"), "{info}");
}

/// Another user's own process, where as much may be locked as one ring of the usual size takes, and
/// nothing is left for a second one.
#[test]
fn memory_that_may_be_locked_is_shared_by_all_rings() {
    let test = "outside_locked";
    if fs::metadata("/proc/self").unwrap().uid() != 0 {
        return skip(test, "only root can become another user");
    }
    let workshop = Workshop::new(test);
    workshop.compile("cc -g -pthread -O2 -o program @outside.c");
    // Of another user, the build may be out of reach.
    let folder = std::env::temp_dir().join(format!("csprof-{test}-{}", std::process::id()));
    fs::create_dir(&folder).unwrap();
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o777)).unwrap();
    for (name, from) in [
        ("csprof", csprof_tests::binary::csprof().to_path_buf()),
        ("program", workshop.path("program")),
    ] {
        fs::copy(from, folder.join(name)).unwrap();
    }
    if let Err(error) = Command::new(folder.join("csprof")).arg("--version").output() {
        fs::remove_dir_all(&folder).unwrap();
        return skip(test, &format!("{}: {error}", folder.display()));
    }
    let script = "ulimit -l 0; cd $0 && (./program shares stop & pid=$!; \
                  while [ ! -e begun ] && kill -0 $pid; do sleep 0.05; done; \
                  ./csprof record -p $pid -e task-clock --duration 500ms -f -o run.csprof; \
                  status=$?; touch stop; wait $pid; exit $status)";
    let mut command = workshop.command("setpriv");
    command.args(["--reuid=61234", "--regid=61234", "--clear-groups", "sh", "-c", script]);
    command.arg(&folder).env("HOME", &folder);
    let outcome = deadline::run(&mut command);
    let said = outcome.complained();
    let saved = folder.join("run.csprof");
    if said.contains("cannot be sampled from outside") {
        fs::remove_dir_all(&folder).unwrap();
        return skip(test, said.trim());
    }
    assert_eq!(outcome.status.code(), Some(0), "{said}");
    fs::copy(saved, workshop.path("run.csprof")).unwrap();
    let run = Recording::new(outcome, workshop.path("run.csprof"));
    assert!(run.rows().inclusive_of("three") > 5, "{}", run.rows());
    fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn a_process_that_is_named_twice_is_sampled_once() {
    let program = Program::start("outside_twice", "-O2", "shares");
    let pid = program.pid();
    let before_ms = program.cpu_time_ms();
    let outcome = program.csprof(&["-p", &pid, "-e", "task-clock@1000", "--duration", "1s"]);
    // No less than while it was sampled, but for the ticks that the kernel counts in.
    let used_ms = program.cpu_time_ms() - before_ms + 20;
    let Some(run) = program.end(outcome) else { return };
    assert_eq!(run.profile.processes.len(), 1);
    // One for each millisecond, and not two.
    assert!(run.samples().recorded * 10 <= used_ms * 11, "{:?} in {used_ms} ms", run.samples());
}

#[test]
fn what_has_ended_before_sampling_begins_is_not_looked_for() {
    let program = Program::start("outside_delay", "-O2", "shares");
    let mut short = program.workshop.command("sleep").arg("4").spawn().unwrap();
    let pid = short.id().to_string();
    let waits = std::thread::spawn(move || short.wait().unwrap());
    let outcome = program.csprof(&["-p", &pid, "--delay", "7s", "--duration", "500ms"]);
    waits.join().unwrap();
    let Some(run) = program.end(outcome) else { return };
    assert_eq!(run.profile.processes.len(), 1);
}

#[test]
fn threads_that_begin_later_are_sampled() {
    let program = Program::start("outside_threads", "-O2", "threads");
    let Some(run) = program.record(&LONGER) else { return };
    // 20 ms each of three seconds, on a machine that does other things, too.
    let sampled = run.profile.threads.iter().filter(|thread| thread.recorded > 0).count();
    assert!(sampled > 5, "{sampled} of {}", run.profile.threads.len());
    assert!(run.rows().inclusive_of("later") > 20);
}

/// Samples of what has no callers and is in the C library: clone3 is, which has no CFI.
fn without_callers_in_libc(rows: &Rows) -> u64 {
    let (mut is_partial, mut samples) = (false, 0);
    for row in rows.iter() {
        if row.depth == 0 {
            is_partial = row.kind == "partial";
        }
        let is_in_libc = row.module.as_ref().is_some_and(|module| module.contains("/libc"));
        samples += if is_partial && row.depth == 1 && is_in_libc { row.exclusive } else { 0 };
    }
    samples
}

/// The kernel would exchange its events with theirs, and what it had counted would end with them.
#[test]
fn a_thread_that_begins_others_keeps_its_samples() {
    for (test, way) in [("outside_begins", "begins"), ("outside_heirs", "heirs")] {
        let program = Program::start(test, "-O2", way);
        let Some(run) = program.record(&WHILE) else { return };
        // Nearly all work is its own.
        let Samples { recorded, partial, .. } = run.samples();
        let missed = run.missed();
        assert!(recorded > 5 && missed < recorded / 3, "{way}: {recorded}, and {missed} missed");
        let rows = run.rows();
        let in_clone3 = without_callers_in_libc(&rows);
        let own = rows.inclusive_of("begin_others") + in_clone3;
        assert!(own * 10 > recorded * 9 && in_clone3 * 3 < recorded, "{way}: {rows}");
        assert!(partial <= in_clone3 + FEW_PARTIAL, "{way}: {rows}");
    }
}

#[test]
fn children_are_sampled_and_so_is_what_they_execute() {
    for (test, way) in [("outside_forks", "forks"), ("outside_execs", "execs")] {
        let program = Program::start(test, "-O2", way);
        let Some(run) = program.record(&LONGER) else { return };
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
    let program = Program::start("outside_crowd", "-O2", "crowd");
    let Some(run) =
        program.record(&["-e", "task-clock@100us", "--stack-copy", "1k", "--duration", "3s"])
    else {
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
    let program = Program::start("outside_generated", "-O2", "generated");
    let Some(run) = program.record(&["--duration", "1s"]) else { return };
    let rows = run.rows();
    assert!(is_most(rows.inclusive_of("made_at_run_time"), &run), "{rows}");
    // Who called it is not known: nobody says how it uses the stack.
    let reasons = run.partial_reasons();
    assert!(reasons.starts_with("unknown-module: ") && reasons.lines().count() == 1, "{reasons}");
}

#[test]
fn several_events_are_several_metrics() {
    let program = Program::start("outside_events", "-O2", "forks");
    let sources = ["-e", "cputime", "-e", "page-faults@2", "--duration", "1s"];
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
    assert!(is_most(run.rows().inclusive_of("work_ms"), &run));
    assert!(!run.profile.times.is_empty());
    assert!(run.profile.processes[0].end_ns > 0);
}

/// As at logout; and of a name that the kernel has cut within a character, which is no UTF-8.
#[test]
fn a_hangup_does_not_end_what_was_started_to_outlive_it() {
    let program = Program::start("outside_nohup", "-O2", "named");
    let csprof = csprof_tests::binary::csprof();
    let script = "trap '' HUP; \"$0\" record -p $1 -e task-clock --duration 1500ms -f -o run.csprof & \
                  for i in 1 2 3 4 5 6; do sleep 0.2; kill -HUP $!; done; wait $!";
    let mut command = program.workshop.command("sh");
    command.args(["-c", script]).arg(csprof).arg(program.pid());
    let outcome = deadline::run(&mut command);
    let Some(run) = program.end(outcome) else { return };
    assert!(run.profile.run.duration_ns >= 1_500_000_000, "{}", run.profile.run.duration_ns);
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
    let stat = format!("/proc/{pid}/stat");
    wait_until("ended", || fs::read_to_string(&stat).unwrap().contains(") Z "));
    assert!(told(&["-p", &pid], 125).contains("(true) has ended"));
    ended.wait().unwrap();
}

/// csprof is in it already, and can do better.
#[test]
fn a_program_of_csprof_s_own_is_sampled_from_inside() {
    let workshop = Workshop::new("outside_own");
    workshop.compile("cc -O2 -g -pthread -o program @outside.c");
    let mut command = workshop.csprof_command();
    command.args(["prepare", "./program", "shares", "stop"]);
    let child = Some(deadline::start(&mut command));
    let mut program = Program { test: "outside_own", workshop, child };
    let (pid, workshop) = (program.pid(), &program.workshop);
    wait_until("at work", || workshop.path("begun").exists());
    let outcome = workshop.csprof(&["record", "-p", &pid]);
    let said = outcome.complained();
    assert_eq!(outcome.status.code(), Some(125), "{said}");
    assert!(said.contains(&format!("csprof attach {pid}")), "{said}");
    fs::write(workshop.path("stop"), "").unwrap();
    let child = program.child.take().unwrap();
    assert!(deadline::finish(child, &command).status.success());
}
