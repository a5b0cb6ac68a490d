//! Runs that are told something while they go on: paused, resumed, stopped, at another rate; begun
//! late, ended early, prepared and asked for later.

use std::fs::File;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::{Duration, SystemTime};

use csprof_tests::binary::csprof;
use csprof_tests::deadline::{self, Outcome, Running, wait_until};
use csprof_tests::notes::skip;
use csprof_tests::recording::{Recording, in_one_of_three};
use csprof_tests::workshop::Workshop;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

const COMPILE: &str = "cc -O1 -g -pthread -I @../../collector/api -o program @controlled.c";
const PERIOD_NS: u64 = 5_000_000;

/// Records the program with so many milliseconds in each phase.
fn record(test: &str, options: &[&str], milliseconds: u64, mode: &str) -> Recording {
    let workshop = Workshop::new(test);
    workshop.compile(COMPILE);
    let milliseconds = milliseconds.to_string();
    let recording =
        workshop.record(options, &["./program", &milliseconds, csprof().to_str().unwrap(), mode]);
    assert!(recording.outcome.status.success(), "{}", recording.outcome.complained());
    recording
}

/// For how long the program knows that it was paused.
fn paused_ns(recording: &Recording) -> u64 {
    recording.outcome.said().lines().next().unwrap().parse().unwrap()
}

/// Samples that are due in the CPU time of each of the three functions, as the program knows it.
fn due(recording: &Recording) -> [u64; 3] {
    let said = recording.outcome.said();
    let mut used_ns = said.lines().nth(1).unwrap().split(' ');
    [(); 3].map(|()| used_ns.next().unwrap().parse::<u64>().unwrap() / PERIOD_NS)
}

/// Samples on call paths through each of the three functions.
fn phases(recording: &Recording) -> [u64; 3] {
    let rows = recording.rows();
    ["before", "meanwhile", "after"].map(|function| rows.inclusive_of(function))
}

/// What the profile says of pauses and rates.
fn told<'r>(recording: &'r Recording, begins: &str) -> &'r str {
    let warnings = &recording.profile.run.warnings;
    let told = warnings.iter().find(|warning| warning.starts_with(begins));
    told.unwrap_or_else(|| panic!("no warning begins with {begins}: {warnings:?}"))
}

/// Asserts that no phase has more samples than its threads worked, and the pause none; `before` and
/// `after` are how many threads had each phase. Returns whether they have 40 % of those samples: on
/// a busy machine, some threads run for less than a tick at a time.
fn check_paused(recording: &Recording, milliseconds: u64, before: u64, after: u64) -> bool {
    let found = phases(recording);
    let expected = [before, 0, after].map(|threads| threads * milliseconds * 1_000_000 / PERIOD_NS);
    assert_eq!(found[1], 0, "{found:?}: {:?}", recording.outcome.said());
    for (found, due) in found.iter().zip(due(recording)) {
        // Each thread may have the part of a period more.
        assert!(*found <= due * 12 / 10 + before + after, "{found} of {due}");
    }
    let told = told(recording, "sampling was paused for ");
    assert!(told.contains("paused at ") && told.contains("resumed at "), "{told}");
    found.iter().zip(expected).all(|(found, expected)| *found >= expected * 4 / 10)
}

#[test]
fn what_passes_in_a_pause_is_not_sampled() {
    for (mode, before, after) in
        [("plain", 1, 1), ("fork", 1, 2), ("exec", 1, 1), ("blocked", 1, 1)]
    {
        let is_right = || {
            let recording = record(&format!("control_{mode}"), &[], 400, mode);
            check_paused(&recording, 400, before, after)
        };
        assert!(in_one_of_three(mode, is_right), "{mode}");
    }
}

#[test]
fn calls_in_a_pause_are_not_sampled() {
    let recording = record("control_calls", &["-e", "yields@1"], 20, "plain");
    assert_eq!(phases(&recording), [10, 0, 10]);
    let recording = record("control_alloc", &["-e", "alloc@1"], 20, "plain");
    assert_eq!(phases(&recording), [10_000, 0, 10_000]);
    let recording = record("control_write", &["-e", "io-write@1"], 20, "plain");
    assert_eq!(phases(&recording), [700, 0, 700]);
}

/// In all processes, and in the place of what the program says meanwhile.
#[test]
fn a_phase_begins_and_ends_while_a_program_runs() {
    let recording = record("control_phase", &["-e", "yields@1"], 20, "phase");
    for (refinement, expected) in [
        ("phase = first", [10, 0, 0]),
        ("phase = steady\\ state", [0, 20, 0]),
        ("phase = second", [0, 0, 10]),
        ("not phase = *", [0, 0, 0]),
    ] {
        let rows = recording.refined(refinement);
        let found = ["before", "meanwhile", "after"].map(|function| rows.inclusive_of(function));
        assert_eq!(found, expected, "{refinement}");
    }
    assert!(!recording.messages().contains("not kept"), "{}", recording.messages());
}

/// A thread waits for another from before the pause until after it.
#[test]
fn of_a_wait_the_pause_is_no_part() {
    let recording = record("control_waits", &["-e", "lock@100us"], 800, "waits");
    let waited_ns = recording.rows().inclusive_of("waiter") * 100_000;
    let paused_ns = paused_ns(&recording);
    let run_ns = recording.profile.run.duration_ns;
    assert!(waited_ns > 1_600_000_000, "{waited_ns}");
    assert!(waited_ns <= run_ns - paused_ns, "{waited_ns}, {run_ns}, {paused_ns}");
}

/// A thread waits for another from before the pause until it has begun.
#[test]
fn a_wait_that_ends_in_a_pause_has_lasted_until_then() {
    let recording = record("control_awaited", &["-e", "lock@100us"], 400, "awaited");
    let waited_ns = recording.rows().inclusive_of("waiter") * 100_000;
    let paused_ns = paused_ns(&recording);
    let run_ns = recording.profile.run.duration_ns;
    assert!(waited_ns >= 400_000_000, "{waited_ns}");
    assert!(waited_ns <= run_ns - paused_ns, "{waited_ns}, {run_ns}, {paused_ns}");
}

#[test]
fn threads_come_and_go_in_a_pause() {
    // Most of them might end before the kernel's first tick.
    let recording = record("control_threads", &["-e", "task-clock@200"], 30, "threads");
    assert!(check_paused(&recording, 30, 64, 64), "{:?}", phases(&recording));
    assert_eq!(recording.profile.processes.len(), 3, "the program, and two that become csprof");
}

/// Elapsed time is known by the clock: what samples stand for is the life of a thread without the
/// pause, however late it notices.
#[test]
fn elapsed_time_stands_still_in_a_pause() {
    let recording = record("control_realtime", &["-e", "realtime@200"], 400, "plain");
    let found = phases(&recording);
    assert_eq!(found[1], 0);
    let [before, after] = [found[0], found[2]];
    let least = 400_000_000 / PERIOD_NS * 9 / 10;
    assert!(before >= least && after >= least, "{found:?}");
    let paused_ns = paused_ns(&recording);
    assert!(paused_ns >= 400_000_000);
    let main = &recording.profile.threads[0];
    let lived_ns = recording.profile.run.duration_ns - main.start_ns;
    let most = (lived_ns - paused_ns) / PERIOD_NS + 2;
    assert!(main.recorded <= most, "{} of {most}", main.recorded);
}

#[test]
fn samples_stand_for_several_periods_at_a_lower_rate() {
    let recording = record("control_rate", &["-e", "cputime@200"], 1000, "rate");
    let [before, _, after] = phases(&recording);
    let expected = 1_000_000_000 / PERIOD_NS;
    // What a late tick brings after the change may be of the time before.
    let both = before + after;
    let [due_before, _, due_after] = due(&recording);
    let most = (due_before + due_after) * 11 / 10 + 8;
    assert!((expected..=most).contains(&both), "{before}, {after}");
    assert!(before.min(after) >= expected / 4, "{before}, {after}");
    assert!(before <= due_before * 11 / 10 + 4, "{before}, {after}");
    let main = &recording.profile.threads[0];
    // A quarter of the second half, and what had been due at the change.
    assert!(main.signals <= before + after / 4 + 8, "{} signals, {before}, {after}", main.signals);
    let told = told(&recording, "the rate of cputime was 50/s");
    assert!(told.contains("stands for 4 of its periods"), "{told}");
    // That there are fewer signals than samples is no fault of the kernel's ticks.
    let said = recording.outcome.complained();
    assert!(!said.contains(" samples came in "), "{said}");
}

#[test]
fn a_run_that_was_stopped_stays_so() {
    for source in ["task-clock@200", "cputime@200"] {
        let has_begun = || {
            let recording = record("control_stop", &["-e", source], 300, "stop");
            let [before, meanwhile, after] = phases(&recording);
            assert_eq!((meanwhile, after), (0, 0), "{source}: {before}");
            assert!(told(&recording, "sampling was paused").contains("stopped at "));
            assert!(before > 0 || !recording.is_fast(), "{}", recording.rows());
            before > 0
        };
        assert!(in_one_of_three(source, has_begun), "{source}");
    }
}

/// Seconds behind a word in a warning.
fn seconds_behind(told: &str, word: &str) -> f64 {
    let rest = told.split_once(word).unwrap_or_else(|| panic!("{word}: {told}")).1;
    rest.split(' ').next().unwrap().parse().unwrap()
}

#[test]
fn a_run_begins_late_and_ends_early() {
    // Of the 300 ms, a busy machine gives the program a part.
    let options = ["-e", "realtime@200", "--delay", "200ms", "--duration", "300ms"];
    let workshop = Workshop::new("control_schedule");
    workshop.compile("cc -O1 -g -pthread -o program @phases.c");
    let recording = workshop.record(&options, &["./program", "700"]);
    assert_eq!(recording.outcome.said(), "done\n");
    let told = told(&recording, "sampling was paused");
    let begin = seconds_behind(told, "resumed at ");
    let end = seconds_behind(told, "stopped as --duration asked at ");
    // The numbers have one decimal.
    let most = (end - begin + 0.1) * 1e9 / PERIOD_NS as f64;
    let recorded = recording.samples().recorded;
    assert!(recorded > 0 && (recorded as f64) < most + 2.0, "{recorded}, {told}");

    let recording = workshop.record(&["--paused"], &["./program", "50"]);
    assert_eq!((recording.outcome.said().as_str(), recording.samples().delivered), ("done\n", 0));
    let said = recording.outcome.complained();
    assert!(said.contains("no sample was due while sampling was not paused"), "{said}");
}

#[test]
fn a_run_ends_with_its_room() {
    let workshop = Workshop::new("control_size");
    workshop.compile("cc -O1 -g -pthread -o program @thread_storm.c");
    let recording = workshop.record(&["--max-size", "64k"], &["./program", "12000", "100"]);
    assert!(recording.outcome.status.success());
    let told = told(&recording, "sampling was paused");
    assert!(told.contains("stopped as --max-size asked at "), "{told}");
}

/// A program that computes until it is told to end.
struct Server {
    child: Running,
    pid: String,
}

impl Server {
    /// `csprof WORDS -- ./program` of which the process `csprof prepare` becomes the program.
    fn start(workshop: &Workshop, words: &[&str]) -> Self {
        Self::start_as(workshop, words, "serve")
    }

    fn start_as(workshop: &Workshop, words: &[&str], mode: &str) -> Self {
        workshop.compile(COMPILE);
        let mut command = workshop.csprof_command();
        command.args(words).args(["--", "./program", "20", "none", mode]);
        let mut child = deadline::start(&mut command);
        // What is not read from there stays for `finish`.
        let mut line = String::new();
        let mut byte = [0];
        while !line.ends_with('\n') {
            child.stdout.as_mut().unwrap().read_exact(&mut byte).unwrap();
            line.push(char::from(byte[0]));
        }
        assert_eq!(line, "serving\n");
        let pid = child.id().to_string();
        Self { child, pid }
    }

    fn end(self, workshop: &Workshop) -> Outcome {
        kill(Pid::from_raw(self.child.id().cast_signed()), Signal::SIGTERM).unwrap();
        deadline::finish(self.child, &workshop.command("the program"))
    }
}

fn recorded(workshop: &Workshop, file: &str, outcome: Outcome) -> u64 {
    recording(workshop, file, outcome).samples().recorded
}

fn recording(workshop: &Workshop, file: &str, outcome: Outcome) -> Recording {
    assert!(outcome.status.success(), "{}", outcome.complained());
    Recording::new(outcome, workshop.path(file))
}

#[test]
fn a_prepared_program_is_asked_twice() {
    let workshop = Workshop::new("control_attach");
    let server = Server::start(&workshop, &["prepare", "-e", "task-clock@200"]);
    let attach = |file: &str| {
        let words = ["attach", &server.pid, "--duration", "1500ms", "-o", file];
        recording(&workshop, file, workshop.csprof(&words))
    };
    let snapshot = |file: &str| {
        let words = ["control", &server.pid, "snapshot", "-f", file];
        recording(&workshop, file, workshop.csprof(&words))
    };
    // What a recording has when the program has gone on. It may have been in the handler of a
    // signal at the pause, and without a processor until later; nothing else comes.
    let settled = |what: &Recording| {
        let [signals, samples] = [
            |run: &Recording| run.profile.threads[0].signals,
            |run: &Recording| run.samples().recorded,
        ];
        let goes_on = || {
            let before_ms = server.child.cpu_time_ms();
            wait_until("gone on", || server.child.cpu_time_ms() >= before_ms + 100);
            snapshot("settled.csprof")
        };
        let then = goes_on();
        assert!((0..=1).contains(&(signals(&then) - signals(what))), "{}", then.info);
        assert!(samples(&then) >= samples(what), "{}", then.info);
        assert_eq!(samples(&goes_on()), samples(&then));
        samples(&then)
    };
    assert_eq!(snapshot("before.csprof").samples().recorded, 0);
    let first = attach("first.csprof");
    assert!(first.samples().recorded > 0);
    let first = settled(&first);
    let second = attach("second.csprof");
    let rows = second.rows();
    let attached = second.samples().recorded;
    assert!(attached > first, "{attached}, {first}");
    assert!(rows.inclusive_of("before") * 10 >= attached * 9, "{rows}");
    let second = settled(&second);

    let pid = server.pid.clone();
    let status = workshop.csprof(&["control", &pid]).complained();
    let folder = status.trim_end().rsplit(' ').next().unwrap().to_owned();
    assert!(Path::new(&folder).exists(), "{status}");
    let outcome = server.end(&workshop);
    assert!(outcome.status.success());
    assert_eq!((outcome.said().as_str(), outcome.complained().as_str()), ("0\n", ""));
    let outcome = workshop.csprof(&["salvage", &folder, "-o", "salvaged.csprof"]);
    let salvaged = Recording::new(outcome, workshop.path("salvaged.csprof"));
    assert_eq!(salvaged.samples().recorded, second);
    told(&salvaged, "salvaged: the program that csprof prepare started has ended");
    let ended = workshop.csprof(&["attach", &pid]);
    assert!(Path::new(&folder).exists(), "it may be of a program that cannot be seen: {folder}");
    age(Path::new(&folder));
    let ended_long_ago = workshop.csprof(&["attach", &pid]);
    assert_eq!(ended_long_ago.complained(), ended.complained());
    assert_eq!(ended.complained(), format!("csprof: there is no process {pid}\n"));
    assert!(!Path::new(&folder).exists(), "{folder}");
}

/// Who starts it as one that no Ctrl-C or hang-up ends means that.
#[test]
fn a_signal_that_was_ignored_does_not_end_an_attach() {
    let workshop = Workshop::new("control_ignored");
    let server = Server::start(&workshop, &["prepare", "-e", "realtime@200"]);
    let mut command = workshop.command("sh");
    let script = "trap '' INT HUP; exec \"$@\"";
    command.args(["-c", script, "sh", csprof().to_str().unwrap()]);
    command.args(["attach", &server.pid, "-o", "run.csprof"]);
    let mut attached = deadline::start(&mut command);
    wait_for(&workshop, &server, ": sampled, ");
    let signal = |signal| kill(Pid::from_raw(attached.id().cast_signed()), signal).unwrap();
    signal(Signal::SIGINT);
    signal(Signal::SIGHUP);
    // Ten looks whether it was told to end.
    std::thread::sleep(Duration::from_millis(500));
    assert_eq!(attached.try_wait().unwrap(), None, "it has ended");
    kill(Pid::from_raw(attached.id().cast_signed()), Signal::SIGTERM).unwrap();
    let outcome = deadline::finish(attached, &command);
    assert!(recorded(&workshop, "run.csprof", outcome) > 0);
    assert!(server.end(&workshop).status.success());
}

/// Nobody but root may look at such a process, at its maps or its environment.
#[test]
fn a_prepared_program_that_is_not_dumpable_is_asked() {
    let workshop = Workshop::new("control_hidden");
    let server = Server::start_as(&workshop, &["prepare", "-e", "realtime@200"], "hidden");
    let as_user = |words: &[&str]| {
        let without = "-sys_ptrace,-perfmon,-sys_admin";
        let mut command = match std::fs::metadata("/proc/self").unwrap().uid() == 0 {
            true => workshop.command("setpriv"),
            false => workshop.command("env"),
        };
        if command.get_program() == "setpriv" {
            command.args(["--bounding-set", without, "--inh-caps", without]);
        }
        deadline::run(command.args(words))
    };
    let maps = as_user(&["cat", &format!("/proc/{}/maps", server.pid)]);
    if maps.status.success() {
        skip("control by another user", "on this machine all may see the maps of all");
        drop(server.end(&workshop));
        return;
    }
    let csprof = csprof().to_str().unwrap();
    let status = as_user(&[csprof, "control", &server.pid]).complained();
    assert!(status.contains(", 1 process, "), "{status}");
    let words = [csprof, "attach", &server.pid, "--duration", "1s", "-o", "run.csprof"];
    let outcome = as_user(&words);
    assert!(recorded(&workshop, "run.csprof", outcome) > 0);
    let outcome = server.end(&workshop);
    assert!(outcome.status.success(), "{}", outcome.complained());
}

/// Makes a folder two hours old.
fn age(folder: &Path) {
    let then = SystemTime::now() - Duration::from_secs(2 * 3600);
    File::open(folder).unwrap().set_modified(then).unwrap();
}

/// Waits until the run says so of itself.
fn wait_for(workshop: &Workshop, server: &Server, state: &str) {
    let start = std::time::Instant::now();
    while !workshop.csprof(&["control", &server.pid]).complained().contains(state) {
        assert!(start.elapsed() < deadline::DEADLINE, "never {state}");
    }
}

#[test]
fn a_signal_to_csprof_pauses_and_resumes() {
    let workshop = Workshop::new("control_signal");
    let words = ["record", "-o", "run.csprof", "--paused", "--control-signal", "USR1"];
    let server = Server::start(&workshop, &words);
    let signal = || {
        kill(Pid::from_raw(server.child.id().cast_signed()), Signal::SIGUSR1).unwrap();
    };
    wait_for(&workshop, &server, ": paused since its start, ");
    signal();
    wait_for(&workshop, &server, ": sampled, ");
    signal();
    wait_for(&workshop, &server, ": paused, ");
    let outcome = server.end(&workshop);
    // SIGUSR1 would have ended the program.
    assert_eq!(outcome.said(), "0\n");
    let said = outcome.complained();
    assert!(said.contains("sampling resumed\n") && said.contains("sampling paused\n"), "{said}");
    let recording = Recording::new(outcome, workshop.path("run.csprof"));
    assert!(told(&recording, "sampling was paused").matches(" at ").count() == 3);
}

#[test]
fn a_prepared_program_that_nobody_asks_for_is_as_alone() {
    let workshop = Workshop::new("control_prepare");
    let outcome =
        workshop.csprof(&["prepare", "--", "sh", "-c", "echo $CSPROF_RUN_DIR; (exit 5); exit 3"]);
    assert_eq!((outcome.status.code(), outcome.complained().as_str()), (Some(3), ""));
    let said = outcome.said();
    let folder = Path::new(said.trim()).parent().unwrap();
    // A csprof removes what has ended, whatever it is asked.
    age(folder);
    let _ = workshop.csprof(&["control", "4194305"]);
    assert!(!folder.exists(), "{}", folder.display());
}

#[test]
fn what_cannot_be_asked_of_a_run_is_said_in_a_line() {
    let workshop = Workshop::new("control_errors");
    let server =
        Server::start(&workshop, &["record", "-q", "-o", "run.csprof", "-e", "cputime@100"]);
    let refused = |words: &[&str]| {
        let outcome = workshop.csprof(&[&["control", &server.pid], words].concat());
        assert!(!outcome.status.success(), "{words:?}");
        let said = outcome.complained();
        assert_eq!(said.lines().count(), 1, "{said}");
        said
    };
    for (words, expected) in [
        (&["puase"][..], "there is no action `puase`; the nearest is `pause`"),
        (&["rate", "realtime@10"], "the run does not sample realtime; it samples cputime"),
        (&["rate", "cputime@0"], "`0` is out of range"),
        (&["rate", "cputime@200"], "the run began with 100/s, and no more samples are to be had"),
        (&["rate", "cputime"], "a rate stands behind the source"),
        (&["snapshot", "no/such/folder/x"], "there is no such folder"),
        (
            &["snapshot", "run.csprof"],
            "run.csprof: here the run saves its whole profile when it ends",
        ),
        (&["snapshot", "../control_errors/run.csprof"], "here the run saves its whole profile"),
    ] {
        let said = refused(words);
        assert!(said.contains(expected), "{words:?}: {said}");
    }
    let attach = workshop.csprof(&["attach", &server.pid]);
    assert!(attach.complained().contains("is being sampled"), "{}", attach.complained());
    let own = std::process::id().to_string();
    let said = workshop.csprof(&["control", &own, "pause"]).complained();
    assert!(said.contains("was not started by csprof"), "{said}");
    let symbolized = workshop.csprof(&["symbolize", &server.pid]).complained();
    assert!(symbolized.contains("is a run; what it has needs -o FILE"), "{symbolized}");
    let paused = workshop.csprof(&["control", &server.pid, "pause"]);
    assert!(paused.status.success() && paused.complained().ends_with("paused\n"));
    let status = workshop.csprof(&["control", &server.pid]).complained();
    assert!(status.contains("paused, cputime 100/s, 1 process, "), "{status}");
    let folder = status.trim_end().rsplit(' ').next().unwrap().to_owned();
    assert!(server.end(&workshop).status.success());
    let said = workshop.csprof(&["control", &folder, "pause"]).complained();
    assert!(said.contains("the run has ended"), "{said}");
}
