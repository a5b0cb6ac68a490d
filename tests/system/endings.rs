//! Every way to end. csprof gives the status that a shell would give, and what was sampled stays,
//! whoever ended the program.

use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt as _;

use csprof_tests::binary::csprof;
use csprof_tests::paths::is_share;
use csprof_tests::recording::Recording;
use csprof_tests::workshop::Workshop;
use csprof_tests::{deadline, installed};
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;

#[test]
fn the_status_is_the_programs_and_the_samples_stay() {
    let workshop = Workshop::new("endings");
    workshop.compile("cc -O2 -pthread -o program @endings.c");
    for (how, status, signal) in [
        ("return", 3, None),
        ("exit", 4, None),
        ("_exit", 5, None),
        ("exit_group", 6, None),
        ("quick_exit", 7, None),
        ("thread", 8, None),
        ("abort", 134, Some(6)),
        ("trap", 132, Some(4)),
        ("fault", 139, Some(11)),
        ("terminate", 143, Some(15)),
        ("kill", 137, Some(9)),
    ] {
        let recording = workshop.record(&[], &["./program", how]);
        assert_eq!(recording.outcome.status.code(), Some(status), "{how}");
        assert_eq!(recording.info["exit"].as_i64(), Some(status.into()), "{how}");
        assert_eq!(recording.info["signal"].as_i64(), signal, "{how}");
        let said = recording.outcome.complained();
        let told = signal.map(|number| {
            let name = Signal::try_from(i32::try_from(number).unwrap()).unwrap();
            format!("the program was killed by signal {number} ({name})")
        });
        assert!(told.as_ref().is_none_or(|told| said.contains(told)), "{how}: {said}");
        assert_eq!(said.contains("killed"), told.is_some(), "{how}: {said}");
        // 400 ms of CPU time at 200 samples per second, in each thread that worked.
        let expected = if how == "thread" { 160 } else { 80 };
        let is_expected = is_share(worked(&recording), expected * 2, 50);
        assert!(is_expected, "{how}:\n{}{}", recording.rows(), recording.info);
    }
}

/// Its end is told to csprof alone, which has to hear of it before the program's own.
#[test]
fn a_thread_that_asks_to_be_traced_ends() {
    let workshop = Workshop::new("traced-thread");
    workshop.compile("cc -O2 -pthread -o program @traced_thread.c");
    let recording = workshop.record(&[], &["./program"]);
    assert_eq!(
        (recording.outcome.said(), recording.outcome.status.code()),
        ("traced\n".into(), Some(7))
    );
}

/// The terminal sends SIGINT to all processes of the foreground group: the program dies, csprof
/// stays to write the profile.
#[test]
fn an_interrupt_ends_the_program_but_not_csprof() {
    let workshop = Workshop::new("interrupt");
    workshop.compile("cc -O2 -pthread -o program @endings.c");
    // A script's job in the background, which these tests may be, has SIGINT ignored, and so do its
    // children: the program would wait for ever.
    let by_default = "--default-signal=INT";
    let probe = deadline::run(workshop.command("env").args([by_default, "true"]));
    let mut command = workshop.command("env");
    if probe.status.success() {
        command.arg(by_default);
    }
    command.arg(workshop.csprof_command().get_program());
    command.args(["record", "-o", "run.csprof", "./program", "wait"]);
    let mut csprof = deadline::start(&mut command);
    let mut said = String::new();
    BufReader::new(csprof.stdout.take().unwrap()).read_line(&mut said).unwrap();
    assert_eq!(said, "ready\n");
    killpg(Pid::from_raw(csprof.id().cast_signed()), Signal::SIGINT).unwrap();
    let outcome = deadline::finish(csprof, &command);
    assert_eq!(outcome.status.code(), Some(130), "{}", outcome.complained());
    let recording = Recording::new(outcome, workshop.path("run.csprof"));
    assert_eq!(recording.info["signal"].as_i64(), Some(2));
    assert!(is_share(worked(&recording), 160, 50));
}

/// What a program sends its process group reaches csprof, too: that neither ends csprof nor comes
/// to the program again.
#[test]
fn a_signal_to_the_group_comes_once_and_ends_nobody() {
    let workshop = Workshop::new("to_group");
    workshop.compile("cc -O2 -o program @signals_to_group.c");
    // Those that nobody catches, those that stop csprof, too, until somebody has it go on, and
    // the C library's own.
    let others = [9, 19, 20, 21, 22, 32, 33];
    for signal in (1..=64).filter(|of| !others.contains(of)) {
        let number = signal.to_string();
        let mut command = workshop.csprof_command();
        command.args(["record", "-o", &format!("{number}.csprof"), "./program", &number]);
        command.process_group(0);
        let outcome = deadline::finish(deadline::start(&mut command), &command);
        let said = (outcome.said(), outcome.status.code());
        assert_eq!(said, ("1\n".into(), Some(7)), "{signal}: {}", outcome.complained());
        let recording = Recording::new(outcome, workshop.path(&format!("{number}.csprof")));
        assert_eq!(recording.info["exit"].as_i64(), Some(7), "{signal}");
    }
    // By a program that has ended when csprof looks for it.
    let script = "trap 'echo taken' USR1; /bin/kill -USR1 0; sleep 0.3; exit 7";
    let mut command = workshop.csprof_command();
    command.args(["record", "-f", "-o", "run.csprof", "sh", "-c", script]).process_group(0);
    let outcome = deadline::finish(deadline::start(&mut command), &command);
    let said = (outcome.said(), outcome.status.code());
    assert_eq!(said, ("taken\n".into(), Some(7)), "{}", outcome.complained());
}

/// Who ends a job (mpirun after MPI_Abort, a batch system) sends SIGTERM and, soon after, SIGKILL.
/// So the profile is saved, and nothing left in shared memory, before names are looked for.
#[test]
fn who_is_told_to_end_saves_before_it_resolves_symbols() {
    let workshop = Workshop::new("told_to_end");
    if !installed::can_trace("told_to_end") {
        return;
    }
    workshop.compile("cc -g -O2 -pthread -o program @endings.c");
    let script = "trap '' TERM; kill -TERM $PPID; ./program return; exit 0";
    let calls = "trace=openat,rmdir,unlinkat";
    let strace = ["strace", "-f", "-o", "calls", "-e", "signal=none", "-e", calls];
    let csprof = csprof();
    let record = [csprof.to_str().unwrap(), "record", "-e", "task-clock@200", "-o", "run.csprof"];
    let outcome = workshop.run(&[&strace[..], &record, &["--", "sh", "-c", script]].concat());
    let calls = std::fs::read_to_string(workshop.path("calls")).unwrap();
    let calls: Vec<&str> = calls.lines().collect();
    let last = |what: &dyn Fn(&str) -> bool| calls.iter().rposition(|line| what(line));
    let saved = last(&|line| line.contains("/run.csprof") || line.contains(".csprof-"));
    let removed = last(&|line| {
        let removes = line.contains("rmdir(") || line.contains("AT_REMOVEDIR");
        removes && line.contains("/csprof-") && line.ends_with(" = 0")
    });
    let read = last(&|line| line.contains("openat(") && line.contains("/program\""));
    assert!(removed.is_some() && removed < read, "{removed:?}, {read:?}: {calls:#?}");
    // With the names, when there was time for them.
    assert!(read < saved, "{read:?}, {saved:?}: {calls:#?}");
    let recording = Recording::new(outcome, workshop.path("run.csprof"));
    assert_eq!(recording.outcome.status.code(), Some(0));
    assert!(recording.rows().inclusive_of("work") > 0, "{}", recording.rows());
}

/// Samples of the work, and those that it was too late for: the kernel looks at CPU timers when its
/// clock ticks, and on a busy machine the time after the last tick that met the thread, which can
/// be most of it, has no sample. `info` says how much it is.
fn worked(recording: &Recording) -> u64 {
    recording.rows().inclusive_of("work") + recording.missed()
}

/// What became csprof by exec(3) has left it the CPU time of its children, as `cargo run` does that
/// of the compiler: it is not the run's.
#[test]
fn only_what_the_run_used_is_its_cpu_time() {
    let workshop = Workshop::new("endings_exec");
    workshop.compile("cc -O2 -pthread -o program @endings.c");
    let cpu_s = |recording: &Recording| recording.info["cpu_s"].as_f64().unwrap();
    let alone = cpu_s(&workshop.record(&[], &["./program", "return"]));
    let work = "./program return; ";
    let record = "exec \"$0\" record -f -o run.csprof -- ./program return";
    let script = format!("{}{record}", work.repeat(4));
    let outcome = workshop.run(&["sh", "-c", &script, csprof().to_str().unwrap()]);
    let after = cpu_s(&Recording::new(outcome, workshop.path("run.csprof")));
    assert!(after < 2.5 * alone, "{after} s after four runs, {alone} s alone");
}
