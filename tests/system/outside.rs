//! Programs that were started without csprof, sampled while they run.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use csprof_format::profile::Origin;
use csprof_tests::deadline::{self, Outcome, Running, wait_until};
use csprof_tests::notes::skip;
use csprof_tests::paths::{Rows, is_share};
use csprof_tests::recording::{FEW_PARTIAL, Recording, Samples, in_one_of_three};
use csprof_tests::workshop::Workshop;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// A program that runs until it is told to stop.
struct Program {
    test: &'static str,
    workshop: Workshop,
    /// Until it has ended.
    child: Option<Running>,
}

impl Drop for Program {
    fn drop(&mut self) {
        // What `generated` would remove, had it been told to stop.
        if let Some(child) = self.child.take() {
            let map = format!("/tmp/perf-{}.map", child.id());
            drop(child);
            let _ = fs::remove_file(map);
        }
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

    fn cpu_time_ms(&self) -> u64 {
        self.child.as_ref().unwrap().cpu_time_ms()
    }

    /// The command that records it.
    fn csprof_command(&self, options: &[&str]) -> Command {
        let mut command = self.workshop.csprof_command();
        command.args(["record", "-p", &self.pid(), "-f", "-o", "run.csprof"]).args(options);
        command
    }

    fn csprof(&self, options: &[&str]) -> Outcome {
        deadline::run(&mut self.csprof_command(options))
    }

    /// Records it and ends it; `None` if the machine does not permit that.
    fn record(self, options: &[&str]) -> Option<Recording> {
        let outcome = self.csprof(options);
        self.end(outcome)
    }

    /// Records it until it has begun [`OTHERS`] while it is sampled, however long that takes, and
    /// ends it; `None` if the machine does not permit that.
    fn record_others(self, options: &[&str]) -> Option<Recording> {
        let mut command = self.csprof_command(options);
        let mut csprof = deadline::start(&mut command);
        wait_until_found(&mut csprof);
        let files = format!("/proc/{}/fd", csprof.id());
        let has_events = || {
            let files = fs::read_dir(&files).into_iter().flatten().flatten();
            let mut files = files.filter_map(|file| fs::read_link(file.path()).ok());
            files.any(|file| file.as_os_str() == "anon_inode:[perf_event]")
        };
        wait_until("sampled", || has_ended(&mut csprof) || has_events());
        let others = || fs::metadata(self.workshop.path("others")).map_or(0, |file| file.len());
        let before = others();
        wait_until("so many", || has_ended(&mut csprof) || others() >= before + OTHERS);
        if !has_ended(&mut csprof) {
            kill(Pid::from_raw(csprof.id().cast_signed()), Signal::SIGTERM).unwrap();
        }
        self.end(deadline::finish(csprof, &command))
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

fn has_ended(csprof: &mut Child) -> bool {
    csprof.try_wait().unwrap().is_some()
}

/// Waits until csprof has found the processes that it is to sample: from then on it watches for the
/// signals that end sampling (proc_pid_status(5), SigCgt), but for those that it was started to
/// ignore, as SIGINT is in the background of a script. Or until it has ended.
fn wait_until_found(csprof: &mut Child) {
    let status = format!("/proc/{}/status", csprof.id());
    let is_watched = |status: &str| {
        let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
        let caught = caught.and_then(|caught| u64::from_str_radix(caught.trim(), 16).ok());
        caught.is_some_and(|caught| caught >> (Signal::SIGTERM as u32 - 1) & 1 == 1)
    };
    wait_until("sampled", || {
        has_ended(csprof) || fs::read_to_string(&status).is_ok_and(|status| is_watched(&status))
    });
}

/// For so long a test looks at a program.
const WHILE: [&str; 2] = ["--duration", "1500ms"];

/// And for so long at one of which it needs more samples than a tenth of a processor gives in that
/// time.
const LONGER: [&str; 2] = ["--duration", "3s"];

/// Threads or processes of 20 ms each that a program begins while it is sampled, one after the
/// other.
const OTHERS: u64 = 40;

/// Whether so many samples are at least half of the CPU time that the kernel has counted: how much
/// that is in a second, other programs decide.
fn is_most(samples: u64, run: &Recording) -> bool {
    samples > 5 && samples * 2 * run.profile.metric.period >= run.profile.run.cpu_ns
}

#[test]
fn shares_of_a_program_that_runs_are_right_and_it_has_no_edges() {
    let mut last = None;
    let all_is_seen = in_one_of_three("outside_shares", || {
        let program = Program::start("outside_shares", "-O2", "shares");
        let Some(run) = program.record(&["-e", "task-clock@1000", "--duration", "1500ms"]) else {
            return true;
        };
        let rows = run.rows();
        let (one, three) = (rows.inclusive_of("one"), rows.inclusive_of("three"));
        assert!(is_most(one + three, &run), "{rows}");
        assert!(is_share(three, one + three, 75), "{one} and {three}: {rows}");
        assert!(rows.at(&["main", "three"]).inclusive == three, "{rows}");
        // All of the time that was sampled has been seen. A hypervisor that takes the processor
        // away takes samples with it, and none of the CPU time.
        let (missed, recorded) = (run.missed(), run.samples().recorded);
        last = Some(run);
        missed <= recorded / 20 + 2
    });
    let Some(run) = last else { return };
    let rows = run.rows();
    assert!(all_is_seen, "{} missed: {}", run.missed(), run.output(&["info"]));
    assert!(rows.iter().all(|row| row.edges.is_none()), "{rows}");
    run.check_partial("a program with unwind tables");
    // It did not start it, and says so.
    let info = run.output(&["info"]);
    assert!(info.contains("exit          unknown: sampled from outside"), "{info}");
    assert!(info.contains("off  edge counts: sampled from outside"), "{info}");
    let said = run.outcome.complained();
    assert!(said.contains("warning: sampled from outside: no edge counts"), "{said}");
    assert!(said.contains("csprof view run.csprof"), "{said}");
}

/// Asserts that most samples are at the bottom of 40 calls. A sample that is partial has some of
/// them, and other rows.
fn check_depth(run: &Recording) {
    let rows = run.rows();
    let calls = |count| [&["main"][..], &vec!["down"; count]].concat();
    assert_eq!(rows.get(&calls(41)), None, "{rows}");
    let bottom = rows.at(&[&calls(40)[..], &["bottom"]].concat());
    assert!(is_most(bottom.inclusive, run) && bottom.depth >= 41, "{rows}");
}

#[test]
fn a_recursion_has_its_depth() {
    let program = Program::start("outside_depth", "-O2 -fno-optimize-sibling-calls", "depth");
    let Some(run) = program.record(&WHILE) else { return };
    check_depth(&run);
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
    check_depth(&run);
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

/// A folder that goes with its test.
struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
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
    let name = format!("csprof-{test}-{}", std::process::id());
    let guard = Folder(std::env::temp_dir().join(name));
    let folder = &guard.0;
    // One of an earlier process of this id.
    let _ = fs::remove_dir_all(folder);
    fs::create_dir(folder).unwrap();
    fs::set_permissions(folder, fs::Permissions::from_mode(0o777)).unwrap();
    for (name, from) in [
        ("csprof", csprof_tests::binary::csprof().to_path_buf()),
        ("program", workshop.path("program")),
    ] {
        fs::copy(from, folder.join(name)).unwrap();
    }
    if let Err(error) = Command::new(folder.join("csprof")).arg("--version").output() {
        return skip(test, &format!("{}: {error}", folder.display()));
    }
    let script = "ulimit -l 0; cd $0 && (./program shares stop & pid=$!; \
                  while [ ! -e begun ] && kill -0 $pid; do sleep 0.05; done; \
                  ./csprof record -p $pid -e task-clock --duration 3s -f -o run.csprof; \
                  status=$?; touch stop; wait $pid; exit $status)";
    let mut command = workshop.command("setpriv");
    // What a user has locked counts for all of its processes, those of other runs of this test too.
    let user = 61_234 + std::process::id() % 1000;
    command.args([format!("--reuid={user}"), format!("--regid={user}")]);
    command.args(["--clear-groups", "sh", "-c", script]);
    command.arg(folder).env("HOME", folder);
    let outcome = deadline::run(&mut command);
    let said = outcome.complained();
    let saved = folder.join("run.csprof");
    if said.contains("cannot be sampled from outside") {
        return skip(test, said.trim());
    }
    assert_eq!(outcome.status.code(), Some(0), "{said}");
    fs::copy(saved, workshop.path("run.csprof")).unwrap();
    let run = Recording::new(outcome, workshop.path("run.csprof"));
    let rows = run.rows();
    let (one, three) = (rows.inclusive_of("one"), rows.inclusive_of("three"));
    assert!(is_most(one + three, &run) && three > one, "{rows}");
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
    // It ends with its input.
    let mut short = program.workshop.command("cat").stdin(Stdio::piped()).spawn().unwrap();
    let pid = short.id().to_string();
    let mut command = program.csprof_command(&["-p", &pid, "--delay", "7s", "--duration", "500ms"]);
    let mut csprof = deadline::start(&mut command);
    wait_until_found(&mut csprof);
    short.wait().unwrap();
    let Some(run) = program.end(deadline::finish(csprof, &command)) else { return };
    assert_eq!(run.profile.processes.len(), 1);
}

#[test]
fn threads_that_begin_later_are_sampled() {
    let program = Program::start("outside_threads", "-O2", "threads");
    let Some(run) = program.record_others(&[]) else { return };
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
        let Some(run) = program.record(&LONGER) else { return };
        // Nearly all work is its own; of few samples, two may be elsewhere.
        let Samples { recorded, partial, .. } = run.samples();
        let missed = run.missed();
        let is_seen = recorded > 20 && missed <= recorded / 3 + 3;
        assert!(is_seen, "{way}: {recorded}, and {missed} missed");
        let rows = run.rows();
        let in_clone3 = without_callers_in_libc(&rows);
        let own = rows.inclusive_of("begin_others") + in_clone3;
        let is_own = own + 2 + recorded / 10 >= recorded && in_clone3 * 3 <= recorded + 6;
        assert!(is_own, "{way}: {rows}");
        assert!(partial <= in_clone3 + FEW_PARTIAL, "{way}: {rows}");
    }
}

#[test]
fn children_are_sampled_and_so_is_what_they_execute() {
    for (test, way) in [("outside_forks", "forks"), ("outside_execs", "execs")] {
        let program = Program::start(test, "-O2", way);
        let Some(run) = program.record_others(&[]) else { return };
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
    // Where other programs run, not all of them may have had their turn.
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
    let sources = ["-e", "cputime", "-e", "page-faults@2"];
    let Some(run) = program.record_others(&sources) else { return };
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
