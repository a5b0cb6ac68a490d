//! Runs a command to its end. One that hangs is killed, and its test fails instead of waiting for
//! ever; nothing is measured by this time, so it is generous.

use std::io::Read;
use std::ops::{Deref, DerefMut};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};
use std::{fs, thread};

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use std::os::unix::process::CommandExt;

/// How long any one command may take. The longest takes some seconds on an idle machine.
pub const DEADLINE: Duration = Duration::from_secs(300);

/// What a command left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// How it ended.
    pub status: ExitStatus,
    /// All of its standard output.
    pub stdout: Vec<u8>,
    /// All of its standard error.
    pub stderr: Vec<u8>,
}

impl Outcome {
    /// Standard output as text.
    #[must_use]
    pub fn said(&self) -> String {
        String::from_utf8_lossy(&self.stdout).into_owned()
    }

    /// Standard error as text.
    #[must_use]
    pub fn complained(&self) -> String {
        String::from_utf8_lossy(&self.stderr).into_owned()
    }
}

/// A command that runs. A test that fails before it has [finished](finish) it leaves nothing that
/// works for ever: it is killed then, with its process group, unless it has ended itself.
#[derive(Debug)]
pub struct Running {
    /// Until it is finished.
    child: Option<Child>,
}

impl Running {
    /// CPU time that its first process has used, in milliseconds: what the kernel counts in ticks
    /// of 10 (proc_pid_stat(5), utime and stime).
    ///
    /// # Panics
    ///
    /// If it has been waited for.
    #[must_use]
    pub fn cpu_time_ms(&self) -> u64 {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.id())).unwrap();
        let (_, behind_name) = stat.rsplit_once(')').unwrap();
        let ticks = behind_name.split_whitespace().skip(11).take(2);
        ticks.map(|ticks| ticks.parse::<u64>().unwrap() * 10).sum()
    }
}

impl Deref for Running {
    type Target = Child;

    fn deref(&self) -> &Child {
        self.child.as_ref().unwrap()
    }
}

impl DerefMut for Running {
    fn deref_mut(&mut self) -> &mut Child {
        self.child.as_mut().unwrap()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Of one that has been waited for, the id may be another's by now.
        if let Some(child) = &mut self.child
            && let Ok(None) = child.try_wait()
        {
            let _ = killpg(Pid::from_raw(child.id().cast_signed()), Signal::SIGKILL);
            let _ = child.wait();
        }
    }
}

/// Waits until it is so.
///
/// # Panics
///
/// If it is not at the [`DEADLINE`].
pub fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < DEADLINE, "never {what}");
        thread::sleep(Duration::from_millis(5));
    }
}

/// Runs `command` in a process group of its own, without input, and takes what it says.
///
/// # Panics
///
/// If it cannot be started, or has not ended at the [`DEADLINE`].
#[must_use]
pub fn run(command: &mut Command) -> Outcome {
    finish(start(command), command)
}

/// Starts `command` in a process group of its own, without input, to be [finished](finish) later.
///
/// # Panics
///
/// If it cannot be started.
#[must_use]
pub fn start(command: &mut Command) -> Running {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
    let child = command.spawn().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    Running { child: Some(child) }
}

/// Takes what a [started](start) command says until it ends.
///
/// # Panics
///
/// If it has not ended at the [`DEADLINE`].
#[must_use]
pub fn finish(mut running: Running, command: &Command) -> Outcome {
    let mut child = running.child.take().unwrap();
    let group = Pid::from_raw(child.id().cast_signed());
    let stdout = child.stdout.take().map(read_to_end);
    let stderr = child.stderr.take().map(read_to_end);
    let (ended, end) = mpsc::channel();
    thread::spawn(move || {
        let output = (stdout.map(join), stderr.map(join));
        // After a deadline there is nobody left to tell.
        let _ = ended.send((child.wait().unwrap(), output));
    });
    match end.recv_timeout(DEADLINE) {
        Ok((status, (stdout, stderr))) => Outcome {
            status,
            stdout: stdout.unwrap_or_default(),
            stderr: stderr.unwrap_or_default(),
        },
        Err(_) => {
            let _ = killpg(group, Signal::SIGKILL);
            panic!("{command:?} has not ended after {DEADLINE:?}");
        }
    }
}

fn read_to_end(mut from: impl Read + Send + 'static) -> thread::JoinHandle<Vec<u8>> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        from.read_to_end(&mut bytes).unwrap();
        bytes
    })
}

fn join(reader: thread::JoinHandle<Vec<u8>>) -> Vec<u8> {
    reader.join().unwrap()
}
