//! Signals while a program is being recorded: they are the program's, and csprof outlives it.
//!
//! What the terminal generates (Ctrl-C, Ctrl-\, hang-up) goes to the whole foreground process
//! group, so the program has it already; what another process sends to csprof alone
//! (`kill PID`, a batch system's SIGTERM) was meant for the program and is passed on. In both
//! cases the program decides what follows, and the profile is written when it has ended. Signals
//! that csprof was started with as ignored (nohup, background jobs of scripts) are ignored in the
//! program, too, unless it takes them, as they would be without csprof.
//!
//! A program that sends its process group a signal (`kill(0, SIGUSR1)`) sends it to csprof, too,
//! and has it already. What it sends its parent was not meant for it either. So nothing is passed
//! on that a process of the run has sent, whatever signal it is, and none ends csprof.
//!
//! Ctrl-Z stops both by itself. If the program stops alone (it handles SIGTSTP, or stops itself),
//! csprof stops too, so that the shell notices; where no shell looks, it goes on waiting, for who
//! has stopped the program (`kill -STOP`, a batch system) continues the program alone.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, ExitStatus};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::libc;
use nix::sys::signal::{self, Signal};
use nix::sys::wait::{Id, WaitPidFlag, waitid};
use nix::unistd::{Pid, getpgid, getpgrp, tcgetpgrp};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2};

use super::control::Control;
use super::inherited::is_ignored;
use super::process::IdsGiven;
use super::received::{self, Received, Sender, Taking};
use super::run_dir::RunDir;
use super::{alive, children, process};
use crate::print;

/// Signals that the terminal sends to the whole foreground group.
const FROM_TERMINAL: [i32; 3] = [SIGINT, SIGQUIT, SIGHUP];
/// Signals that only other processes send.
const FROM_PROCESSES: [i32; 3] = [SIGTERM, SIGUSR1, SIGUSR2];
/// Signals that would end csprof, and that are mostly sent by a program, to itself or to its
/// process group, or by the kernel. All others that can be caught stop a process, or do nothing.
fn of_groups() -> impl Iterator<Item = i32> {
    let standard = [
        libc::SIGALRM,
        libc::SIGVTALRM,
        libc::SIGPROF,
        libc::SIGIO,
        libc::SIGPWR,
        libc::SIGSTKFLT,
        libc::SIGABRT,
        libc::SIGXCPU,
        libc::SIGXFSZ,
        libc::SIGSYS,
        libc::SIGTRAP,
        libc::SIGSEGV,
        libc::SIGBUS,
        libc::SIGILL,
        libc::SIGFPE,
    ];
    standard.into_iter().chain(libc::SIGRTMIN()..=libc::SIGRTMAX())
}

/// All that are taken.
fn all() -> impl Iterator<Item = i32> {
    FROM_TERMINAL.into_iter().chain(FROM_PROCESSES).chain(of_groups())
}

/// Signals by which a job is ended. SIGTERM first: SIGHUP may also mean that files are to be read
/// again.
const ENDS: [i32; 2] = [SIGTERM, SIGHUP];

/// Takes signals from construction to drop, so that none of them ends csprof before it has
/// written the profile.
#[derive(Debug)]
pub struct SignalGuard {
    stage: Arc<Mutex<Stage>>,
    /// When somebody last wanted all of it to end, who may not wait for long, by each of [`ENDS`].
    told_to_end: Arc<Mutex<[Option<Instant>; ENDS.len()]>>,
    of_run: Arc<OfRun>,
    /// Until it is dropped.
    taking: Option<Taking>,
    /// Signals that are ignored until the program has inherited that.
    ignored: Vec<i32>,
    listener: Option<thread::JoinHandle<()>>,
}

/// A signal that is not the program's: it pauses sampling, or resumes it.
#[derive(Debug)]
pub struct Toggle {
    /// Which one.
    pub signal: Signal,
    /// What it changes.
    pub control: Control,
    /// Whether only errors are told.
    pub is_quiet: bool,
}

impl Toggle {
    /// The signal has come.
    fn act(&self) {
        let is_paused = self.control.state().is_ok_and(|state| state.clock.is_paused());
        let changed = if is_paused { self.control.resume() } else { self.control.pause() };
        let _ = match changed {
            Ok(_) if self.is_quiet => Ok(()),
            Ok(_) => print::message(if is_paused { "sampling resumed" } else { "sampling paused" }),
            Err(error) => print::message(format_args!("{error:#}")),
        };
    }
}

/// Whose business a signal is.
#[derive(Debug)]
enum Stage {
    /// Nothing runs yet, as far as is known: what arrives meanwhile.
    Preparing(Vec<Received>),
    /// The program's, which lives.
    Running(Pid),
    /// csprof's own: the program has ended (its id may belong to somebody else by now), and the
    /// profile is being written.
    /// `advice` says how the rest can be had if csprof stops now.
    Saving { since: Instant, interrupts: u32, waiting: bool, advice: String },
}

/// How long after the wish to end something is killed at the latest, by those who are patient.
const PATIENCE_OF_JOBS: Duration = Duration::from_secs(60);

/// How long a program may take to end by SIGTERM before what it has sampled so far is saved. The
/// least patient launcher kills it a second after the signal.
const TIME_TO_END: Duration = Duration::from_millis(200);

/// A Ctrl-C that ended the program may reach csprof a little later; it is not meant for the
/// writing of the profile.
pub(crate) const SAME_KEY_PRESS: Duration = Duration::from_millis(500);

impl SignalGuard {
    /// Starts taking signals, of which one may be a toggle. Those that a process of `run` sends are
    /// not passed on.
    ///
    /// # Errors
    ///
    /// When handlers or the listening thread cannot be set up.
    pub fn new(toggle: Option<Toggle>, run: Option<&RunDir>) -> io::Result<Self> {
        let mask = ignored_signals();
        let (ignored, taken): (Vec<i32>, Vec<i32>) = all().partition(|&signal| is_in(mask, signal));
        let (taking, mut inbox) = received::begin()?;
        for signal in taken {
            taking.add(signal)?;
        }
        let arenas = run.map(|run| run.all_arenas().map(Path::to_owned).collect());
        let of_run = OfRun { arenas: arenas.unwrap_or_default(), ids: IdsGiven::now() };
        let of_run = Arc::new(of_run);
        let senders = Arc::clone(&of_run);
        let stage = Arc::new(Mutex::new(Stage::Preparing(Vec::new())));
        let seen = Arc::clone(&stage);
        let told_to_end = Arc::new(Mutex::new([None; ENDS.len()]));
        let told = Arc::clone(&told_to_end);
        let listener = thread::Builder::new().name("signals".into()).spawn(move || {
            while let Some(received) = inbox.next() {
                let signal = received.signal;
                if let Some(toggle) = toggle.as_ref().filter(|of| of.signal as i32 == signal) {
                    toggle.act();
                    continue;
                }
                for (end, when) in ENDS.into_iter().zip(&mut *lock(&told)) {
                    if end == signal && !is_in(mask, signal) {
                        *when = Some(Instant::now());
                    }
                }
                let mut stage = lock(&seen);
                if let Stage::Running(pid) = *stage {
                    // Without the lock: a sender whose memory is held makes it wait.
                    drop(stage);
                    let is_for_program = senders.is_for_program(received, pid);
                    stage = lock(&seen);
                    if is_for_program && matches!(*stage, Stage::Running(_)) {
                        pass_on(received, pid);
                    }
                } else {
                    arrived(received, mask, &mut stage);
                }
            }
        })?;
        Ok(Self {
            stage,
            told_to_end,
            of_run,
            taking: Some(taking),
            ignored,
            listener: Some(listener),
        })
    }

    /// Waits until the program ends and returns how. From then on an interrupt is a wish to stop
    /// writing the profile: the second one ends csprof, and `advice` says how it can be had then.
    ///
    /// # Errors
    ///
    /// When the kernel does not know the child, which would be a mistake of csprof.
    pub fn wait(&self, child: &mut Child, advice: String) -> io::Result<ExitStatus> {
        let pid = Pid::from_raw(child.id().cast_signed());
        self.begin_running(pid);
        // The program has inherited that these are ignored. It may take them nevertheless, so from
        // now on they are passed on like the others.
        for &signal in &self.ignored {
            self.taking.as_ref().map_or(Ok(()), |taking| taking.add(signal))?;
        }
        loop {
            match children::next_change() {
                Ok(changed) if changed.pid != pid => children::take_change(changed.pid),
                Ok(changed) if changed.is_stopped => stop_with(pid),
                Err(Errno::EINTR) => {}
                Ok(_) | Err(_) => break,
            }
        }
        // The ended program was left in place, so its id was its own until here.
        *lock(&self.stage) =
            Stage::Saving { since: Instant::now(), interrupts: 0, waiting: false, advice };
        child.wait()
    }
}

impl SignalGuard {
    /// From here on signals are the program's, and so are those that came since it was started.
    fn begin_running(&self, pid: Pid) {
        let stage = std::mem::replace(&mut *lock(&self.stage), Stage::Running(pid));
        if let Stage::Preparing(mut early) = stage {
            early.retain(|received| self.of_run.is_for_program(*received, pid));
            early.iter().for_each(|received| pass_on(*received, pid));
        }
    }

    /// From here on the first interrupt is a wish to wait no longer for processes that outlive the
    /// program.
    pub fn begin_waiting(&self) {
        if let Stage::Saving { waiting, .. } = &mut *lock(&self.stage) {
            *waiting = true;
        }
    }

    /// Whether nobody wished that so far.
    #[must_use]
    pub fn is_waiting(&self) -> bool {
        matches!(&*lock(&self.stage), Stage::Saving { waiting: true, .. })
    }

    /// Whether csprof was told to end, just now. Who ends jobs (a batch system, mpirun after
    /// MPI_Abort) kills what is still there a second later, or half a minute. What a program
    /// outlives for longer (SIGHUP, by which daemons read their files again) was no end.
    #[must_use]
    pub fn must_end(&self) -> bool {
        let told = *lock(&self.told_to_end);
        told.into_iter().flatten().any(|when| when.elapsed() < PATIENCE_OF_JOBS)
    }

    /// When csprof was last told to terminate (SIGTERM), if the program has had time to end since.
    #[must_use]
    pub fn outlived(&self) -> Option<Instant> {
        // A SIGHUP that came, too, does not cancel it.
        let [terminate, _] = *lock(&self.told_to_end);
        terminate.filter(|when| when.elapsed() >= TIME_TO_END)
    }

    /// From here on a profile is saved, and something can be added to it: by `advice`.
    pub fn saved_early(&self, to_add: &str) {
        if let Stage::Saving { advice, .. } = &mut *lock(&self.stage) {
            to_add.clone_into(advice);
        }
    }

    /// From here on an interrupt is a wish to stop writing the profile again.
    pub fn end_waiting(&self) {
        if let Stage::Saving { waiting, .. } = &mut *lock(&self.stage) {
            *waiting = false;
        }
    }
}

fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Drop for SignalGuard {
    fn drop(&mut self) {
        /// For what it is about to do; but it may have asked about a process whose memory is held.
        const GRACE: Duration = Duration::from_secs(1);
        drop(self.taking.take());
        let Some(listener) = self.listener.take() else { return };
        let begin = Instant::now();
        while !listener.is_finished() && begin.elapsed() < GRACE {
            thread::sleep(Duration::from_micros(200));
        }
        if listener.is_finished() {
            let _ = listener.join();
        }
    }
}

/// Whether a mask has a signal: bit `n − 1` for signal `n`.
fn is_in(mask: u64, signal: i32) -> bool {
    mask & (1 << (signal - 1)) != 0
}

/// Does what is to be done about a signal while no program runs. `ignored` are those with which
/// csprof was started as ignored, bit `n − 1` for signal `n`.
fn arrived(received: Received, ignored: u64, stage: &mut Stage) {
    let signal = received.signal;
    match stage {
        Stage::Preparing(early) => early.push(received),
        Stage::Running(_) => {}
        Stage::Saving { since, interrupts, waiting, advice } => {
            let is_wish = (FROM_TERMINAL.contains(&signal) || signal == SIGTERM)
                && !is_in(ignored, signal)
                && since.elapsed() > SAME_KEY_PRESS;
            if !is_wish {
                return;
            }
            if std::mem::take(waiting) {
                return;
            }
            *interrupts += 1;
            if *interrupts == 1 {
                let _ = print::message("writing the profile; interrupt again to stop");
                return;
            }
            let _ = print::message(format_args!("stopped; {advice}"));
            std::process::exit(128 + signal);
        }
    }
}

/// Whether the program has it already, or is not to have it: whether the terminal has sent it both,
/// or the kernel means csprof's own limits and files. What csprof was executed with by a program
/// that had set an alarm is the program's.
fn is_no_programs(Received { signal, sender }: Received) -> bool {
    let is_programs = match FROM_TERMINAL.contains(&signal) {
        true => !in_foreground(),
        false => signal == libc::SIGALRM,
    };
    match sender {
        Sender::Kernel => !is_programs,
        // The kernel names who has written too much to a file as the sender (setrlimit(2)), and
        // abort(3) sends it to oneself.
        Sender::Process(sender) => {
            sender == std::process::id() && [libc::SIGXFSZ, libc::SIGABRT].contains(&signal)
        }
    }
}

/// Sends the program what is for it. It may have ended this moment; then there is nobody to tell.
fn pass_on(received: Received, program: Pid) {
    let _ = received::send(program, received.signal);
}

/// The processes of the run.
#[derive(Debug)]
struct OfRun {
    /// The folders with their arenas.
    arenas: Vec<PathBuf>,
    /// Ids before it began.
    ids: IdsGiven,
}

impl OfRun {
    fn is_for_program(&self, received: Received, program: Pid) -> bool {
        !is_no_programs(received) && !self.has_sent(received, program)
    }

    /// Whether one of them has sent a signal, also one that has ended this moment; of those that
    /// are not profiled only one that has not, or that was not waited for. Where that is not known
    /// it was another: better twice than never.
    fn has_sent(&self, received: Received, program: Pid) -> bool {
        let Sender::Process(sender) = received.sender else { return false };
        let program = program.as_raw().cast_unsigned();
        // csprof may have further children, of a shell that has become csprof (exec).
        if sender == program || process::descends_from(sender, program) {
            return true;
        }
        // Ids are used again, and a container has ids of its own.
        match process::is_alive(sender) {
            true => alive::maps_arena_in(sender, &self.arenas),
            false => {
                let may_repeat = || self.ids.may_repeat();
                self.arenas.iter().any(|of| alive::has_just_ended(sender, of, may_repeat))
            }
        }
    }
}

/// Whether csprof belongs to the foreground group of its terminal, so that the terminal's signals
/// reach the program, too. Without a terminal there is nobody but processes to send them.
fn in_foreground() -> bool {
    File::open("/dev/tty").is_ok_and(|tty| tcgetpgrp(&tty) == Ok(getpgrp()))
}

/// Whether csprof is in a job for which a shell waits that has started csprof itself: such a shell
/// is in another process group. A script, which is in the same one, would wait for ever.
fn is_job() -> bool {
    getpgid(Some(Pid::parent())).is_ok_and(|group| group != getpgrp()) && in_foreground()
}

/// Stops csprof because the program has stopped. Who continues csprof, a shell with `fg`,
/// continues its whole process group and so the program, too.
fn stop_with(pid: Pid) {
    // Take the report, so that the same stop is not reported again.
    let _ = waitid(Id::Pid(pid), WaitPidFlag::WSTOPPED | WaitPidFlag::WNOHANG);
    // After Ctrl-Z csprof was stopped, too, and gets here when both have been continued.
    if process::is_stopped(pid.as_raw().cast_unsigned()) && is_job() {
        // SIGTSTP and not SIGSTOP: where no shell could continue csprof (its process group is
        // orphaned), the kernel drops it, and csprof goes on waiting.
        let _ = signal::raise(Signal::SIGTSTP);
    }
}

/// Those of the signals here that csprof was started with as ignored, bit `n − 1` for signal `n`.
fn ignored_signals() -> u64 {
    all().filter(|&of| is_ignored(of)).fold(0, |mask, signal| mask | 1 << (signal - 1))
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead as _, BufReader};
    use std::os::unix::process::ExitStatusExt;
    use std::process::{Command, Stdio};

    use super::*;
    use crate::surroundings::comes_true;

    /// Runs a shell script under the guard. Its standard input never ends, so `read` waits.
    fn status_of(script: &str) -> ExitStatus {
        let guard = SignalGuard::new(None, None).unwrap();
        let mut shell =
            Command::new("sh").args(["-c", script]).stdin(Stdio::piped()).spawn().unwrap();
        let status = guard.wait(&mut shell, String::new()).unwrap();
        // What it has sent is not to come to the guard of the next.
        assert!(comes_true(|| {
            let own = std::fs::read_to_string("/proc/self/status").unwrap();
            own.lines().any(|line| line.strip_prefix("ShdPnd:\t").is_some_and(is_nothing))
        }));
        status
    }

    fn is_nothing(mask: &str) -> bool {
        u64::from_str_radix(mask, 16) == Ok(0)
    }

    /// The same, where somebody sends csprof signals once the script has written a line.
    fn status_when_sent(script: &str, signals: &[i32]) -> ExitStatus {
        let guard = SignalGuard::new(None, None).unwrap();
        let mut shell = Command::new("sh");
        shell.args(["-c", script]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut shell = shell.spawn().unwrap();
        let mut said = BufReader::new(shell.stdout.take().unwrap());
        thread::scope(|scope| {
            scope.spawn(|| {
                said.read_line(&mut String::new()).unwrap();
                signals.iter().for_each(|of| received::send(Pid::this(), *of).unwrap());
            });
            guard.wait(&mut shell, String::new()).unwrap()
        })
    }

    // One test, because signals reach the guards of all tests that run at the moment.
    #[test]
    fn csprof_outlives_the_program_and_passes_its_signals_on() {
        assert_eq!(status_of("exit 3").code(), Some(3));
        assert_eq!(status_of("kill -KILL $$").signal(), Some(9));
        // A real-time signal, which has no name in nix.
        assert_eq!(status_of("kill -40 $$").signal(), Some(40));

        // Somebody stops it and has it go on.
        let continued = "(until grep -q '^State:.T' /proc/$$/status; do sleep 0.01; done; \
                         kill -CONT $$) & kill -STOP $$; exit 6";
        assert_eq!(status_of(continued).code(), Some(6));

        // Sent by the program to its group, or to its parent: it alone decides what it is worth.
        for signal in ["ALRM", "PROF", "USR1", "TERM", "ABRT", "SEGV", "XCPU", "SYS", "34", "64"] {
            let script = format!("kill -{signal} $PPID; exit 5");
            assert_eq!(status_of(&script).code(), Some(5), "{signal}");
        }

        // Sent to csprof alone, here the test. A shell that has a trap may miss the signal on its
        // way into `read`, but not between commands.
        let loops = "echo; while :; do sleep 0.1; done";
        for signal in [libc::SIGUSR1, libc::SIGALRM, libc::SIGXCPU, 40] {
            let trapped = format!("trap 'exit 9' {signal}; {loops}");
            assert_eq!(status_when_sent(&trapped, &[signal]).code(), Some(9), "{signal}");
        }
        let waits = status_when_sent("echo; read never", &[libc::SIGTERM]);
        assert_eq!(waits.signal(), Some(15));
        // What csprof's own limits and faults have it send itself.
        for signal in [libc::SIGXFSZ, libc::SIGABRT] {
            let trapped = format!("trap 'exit 9' {signal}; echo; sleep 0.3; exit 5");
            assert_eq!(status_when_sent(&trapped, &[signal]).code(), Some(5), "{signal}");
        }

        // By another child, which whoever has become csprof left to it: it means the program.
        let folder = tempfile::tempdir().unwrap();
        let begun = folder.path().join("begun");
        let (begun, own) = (begun.display(), std::process::id());
        let script = format!("until [ -e {begun} ]; do sleep 0.01; done; kill -TERM {own}");
        let mut other = Command::new("sh").args(["-c", &script]).spawn().unwrap();
        let waits = status_of(&format!("touch {begun}; read never"));
        assert_eq!(waits.signal(), Some(15));
        // It may have been reaped.
        let _ = other.wait();

        // Another such child ends by such a signal first.
        let mut other = Command::new("sh").args(["-c", "kill -40 $$"]).spawn().unwrap();
        assert!(comes_true(|| !process::is_alive(other.id())));
        let patient = format!("trap 'exit 9' USR1; sleep 0.2; {loops}");
        assert_eq!(status_when_sent(&patient, &[libc::SIGUSR1]).code(), Some(9));
        assert!(other.wait().is_err(), "it was reaped");

        // The same at once by two signals, which the program takes and survives for a while.
        let guard = SignalGuard::new(None, None).unwrap();
        let taken = "trap : TERM HUP; kill -TERM $PPID; sleep 0.1; kill -HUP $PPID; sleep 0.2";
        let mut shell = Command::new("sh").args(["-c", taken]).spawn().unwrap();
        guard.wait(&mut shell, String::new()).unwrap();
        // It is noted by another thread, and the time to end begins then.
        assert!(comes_true(|| guard.outlived().is_some() && guard.must_end()));

        // Before it is known that the program runs.
        let guard = SignalGuard::new(None, None).unwrap();
        let mut shell = Command::new("sleep").arg("1000").spawn().unwrap();
        signal::raise(Signal::SIGTERM).unwrap();
        let has_come =
            || matches!(&*lock(&guard.stage), Stage::Preparing(early) if !early.is_empty());
        assert!(comes_true(has_come));
        assert_eq!(guard.wait(&mut shell, String::new()).unwrap().signal(), Some(15));
    }
}
