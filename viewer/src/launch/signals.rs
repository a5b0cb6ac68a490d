//! Signals while a program is being recorded: they are the program's, and csprof outlives it.
//!
//! What the terminal generates (Ctrl-C, Ctrl-\, hang-up) goes to the whole foreground process
//! group, so the program has it already; what another process sends to csprof alone
//! (`kill PID`, a batch system's SIGTERM) was meant for the program and is passed on. In both
//! cases the program decides what follows, and the profile is written when it has ended. Signals
//! that csprof was started with as ignored (nohup) stay ignored for both.
//!
//! Ctrl-Z stops both by itself. If the program stops alone (it handles SIGTSTP, or stops itself),
//! csprof stops too, so that the shell notices.

use std::fs::{self, File};
use std::io;
use std::process::{Child, ExitStatus};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use nix::errno::Errno;
use nix::sys::signal::{self, Signal};
use nix::sys::wait::{Id, WaitPidFlag, WaitStatus, waitid};
use nix::unistd::{Pid, getpgrp, tcgetpgrp};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2};
use signal_hook::iterator::{Handle, Signals};

/// Signals that the terminal sends to the whole foreground group.
const FROM_TERMINAL: [i32; 3] = [SIGINT, SIGQUIT, SIGHUP];
/// Signals that only other processes send.
const FROM_PROCESSES: [i32; 3] = [SIGTERM, SIGUSR1, SIGUSR2];

/// Takes signals from construction to drop, so that none of them ends csprof before it has
/// written the profile.
#[derive(Debug)]
pub struct SignalGuard {
    shared: Arc<Shared>,
    handle: Handle,
    listener: Option<thread::JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Shared {
    /// The program while it lives: after that its id may belong to somebody else.
    program: Mutex<Option<Pid>>,
    /// Whether csprof was asked to end after the program had ended.
    interrupted: AtomicBool,
}

impl SignalGuard {
    /// Starts taking signals.
    ///
    /// # Errors
    ///
    /// When handlers or the listening thread cannot be set up.
    pub fn new() -> io::Result<Self> {
        let ignored = ignored_signals();
        let taken = FROM_TERMINAL
            .into_iter()
            .chain(FROM_PROCESSES)
            .filter(|signal| ignored & (1 << (signal - 1)) == 0);
        let mut signals = Signals::new(taken)?;
        let handle = signals.handle();
        let shared = Arc::new(Shared::default());
        let seen = Arc::clone(&shared);
        let listener = thread::Builder::new().name("signals".into()).spawn(move || {
            for signal in signals.forever() {
                seen.arrived(signal);
            }
        })?;
        Ok(Self { shared, handle, listener: Some(listener) })
    }

    /// Waits until the program ends and returns how.
    ///
    /// # Errors
    ///
    /// When the kernel does not know the child, which would be a mistake of csprof.
    pub fn wait(&self, child: &mut Child) -> io::Result<ExitStatus> {
        let pid = Pid::from_raw(child.id().cast_signed());
        *self.program() = Some(pid);
        let changes = WaitPidFlag::WEXITED | WaitPidFlag::WSTOPPED | WaitPidFlag::WNOWAIT;
        loop {
            match waitid(Id::Pid(pid), changes) {
                Ok(WaitStatus::Stopped(..)) => stop_with(pid),
                Err(Errno::EINTR) => {}
                // An end; or an error such as a signal without a name in nix, which `wait` tells.
                _ => break,
            }
        }
        // WNOWAIT has left the ended program in place, so its id was its own until here.
        *self.program() = None;
        child.wait()
    }

    /// Whether somebody asked csprof to end after the program had ended.
    #[must_use]
    pub fn interrupted(&self) -> bool {
        self.shared.interrupted.load(Ordering::Relaxed)
    }

    fn program(&self) -> std::sync::MutexGuard<'_, Option<Pid>> {
        self.shared.program.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for SignalGuard {
    fn drop(&mut self) {
        self.handle.close();
        if let Some(listener) = self.listener.take() {
            let _ = listener.join();
        }
    }
}

impl Shared {
    fn arrived(&self, signal: i32) {
        let program = self.program.lock().unwrap_or_else(PoisonError::into_inner);
        match *program {
            Some(pid) => {
                let has_it_already = FROM_TERMINAL.contains(&signal) && in_foreground();
                if !has_it_already && let Ok(signal) = Signal::try_from(signal) {
                    // The program may have ended this moment; then there is nobody to tell.
                    let _ = signal::kill(pid, signal);
                }
            }
            None if FROM_TERMINAL.contains(&signal) || signal == SIGTERM => {
                self.interrupted.store(true, Ordering::Relaxed);
            }
            None => {}
        }
    }
}

/// Whether csprof belongs to the foreground group of its terminal, so that the terminal's signals
/// reach the program, too. Without a terminal there is nobody but processes to send them.
fn in_foreground() -> bool {
    File::open("/dev/tty").is_ok_and(|tty| tcgetpgrp(&tty) == Ok(getpgrp()))
}

/// Stops csprof because the program has stopped. Who continues csprof, a shell with `fg`,
/// continues its whole process group and so the program, too.
fn stop_with(pid: Pid) {
    // Take the report, so that the same stop is not reported again.
    let _ = waitid(Id::Pid(pid), WaitPidFlag::WSTOPPED | WaitPidFlag::WNOHANG);
    // After Ctrl-Z csprof was stopped, too, and gets here when both have been continued.
    if is_stopped(pid) {
        // SIGTSTP and not SIGSTOP: where no shell could continue csprof (its process group is
        // orphaned), the kernel drops it, and csprof goes on waiting.
        let _ = signal::raise(Signal::SIGTSTP);
    }
}

/// State `T` in /proc/PID/stat; the field after the name in parentheses, which may contain any
/// character (proc_pid_stat(5)).
fn is_stopped(pid: Pid) -> bool {
    fs::read_to_string(format!("/proc/{pid}/stat"))
        .is_ok_and(|stat| stat.rsplit_once(')').is_some_and(|(_, rest)| rest.starts_with(" T")))
}

/// Signals that csprof was started with as ignored, bit `n − 1` for signal `n`.
fn ignored_signals() -> u64 {
    fs::read_to_string("/proc/self/status")
        .ok()
        .and_then(|status| {
            let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"))?;
            u64::from_str_radix(mask.trim(), 16).ok()
        })
        .unwrap_or(0)
}
