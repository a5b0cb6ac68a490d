//! What wakes the viewer up: keys, signals, answers. Each comes from a thread of its own.

use std::sync::atomic::Ordering;
use std::sync::mpsc::{Sender, channel};
use std::time::Duration;
use std::{fs, io, thread};

use anyhow::Context;
use crossterm::event::{Event, KeyCode, KeyEvent, KeyModifiers};
use nix::unistd::{Pid, getpgid, getpgrp, getppid, getsid};
use signal_hook::consts::{
    SIGABRT, SIGALRM, SIGCONT, SIGHUP, SIGINT, SIGPROF, SIGQUIT, SIGSYS, SIGTERM, SIGTRAP, SIGTSTP,
    SIGUSR1, SIGUSR2, SIGVTALRM, SIGWINCH, SIGXCPU, SIGXFSZ,
};
use signal_hook::iterator::Signals;
use signal_hook::low_level::emulate_default_handler;

use super::aborts::give_back_on_abort;
use super::editor::IN_EDITOR;
use super::key::{Code, Key};
use super::reader::Reader;
use super::terminal::{give_back, give_back_modes};

/// How long a signal that ends the viewer waits for the shell to end it, and then for the terminal
/// to take what gives it back. The shell may be at work, or wait for a terminal that is held
/// (Ctrl-S).
const GRACE: Duration = Duration::from_secs(1);

/// Signals that end the viewer, which gives the terminal back before: those that people and
/// programs send, and those of limits.
const ENDING: [i32; 14] = [
    SIGTERM, SIGHUP, SIGINT, SIGQUIT, SIGABRT, SIGALRM, SIGPROF, SIGSYS, SIGTRAP, SIGUSR1, SIGUSR2,
    SIGVTALRM, SIGXCPU, SIGXFSZ,
];

/// What wakes the shell up.
pub(super) enum Arrival {
    Terminal(Event),
    TerminalFailed(io::Error),
    Signal(i32),
    /// The worker has sent an answer on the channel of answers.
    Answered,
    WorkerEnded,
    /// A wait of this number is over.
    Waited(u64),
    /// A thread that reads or writes a file has panicked.
    Panicked,
}

/// Does something when it is dropped, also by a panic.
pub(super) struct OnDrop<F: FnMut()>(pub(super) F);

impl<F: FnMut()> Drop for OnDrop<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}

/// Signals that this process ignores, bit `n − 1` for signal `n` (proc(5)).
fn ignored() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:\t"));
    mask.and_then(|mask| u64::from_str_radix(mask, 16).ok()).unwrap_or(0)
}

/// Starts the thread that waits for signals. Like the one that waits for keys it waits in the
/// kernel and cannot be told to stop, so it is not joined; it ends with the process.
pub(super) fn watch_signals(sender: &Sender<Arrival>) -> anyhow::Result<()> {
    // What the shell had csprof ignore ends it no more than others (`trap '' USR1`).
    let ignored = ignored();
    let is_taken = |signal: &i32| {
        matches!(*signal, SIGTERM | SIGHUP | SIGINT | SIGQUIT) || ignored & 1 << (*signal - 1) == 0
    };
    if is_taken(&SIGABRT) {
        give_back_on_abort();
    }
    let ending = ENDING.into_iter().filter(is_taken);
    let mut signals = Signals::new(ending.chain([SIGTSTP, SIGCONT, SIGWINCH]))
        .context("signals cannot be watched")?;
    let to_shell = sender.clone();
    thread::spawn(move || {
        for signal in &mut signals {
            // Relaxed: nothing else is told by it.
            if matches!(signal, SIGINT | SIGQUIT) && IN_EDITOR.load(Ordering::Relaxed) {
                continue;
            }
            if !matches!(signal, SIGTSTP | SIGCONT | SIGWINCH) {
                thread::spawn(move || end_by(signal));
            }
            if to_shell.send(Arrival::Signal(signal)).is_err() {
                return;
            }
        }
    });
    Ok(())
}

/// Starts the thread that waits for the terminal.
pub(super) fn read_keys(sender: &Sender<Arrival>) -> io::Result<Reader> {
    let to_shell = sender.clone();
    // Without keys nobody could end the viewer.
    let told = OnDrop({
        let to_shell = sender.clone();
        move || {
            let cause = "the thread that reads keys has ended";
            drop(to_shell.send(Arrival::TerminalFailed(io::Error::other(cause))));
        }
    });
    Reader::start(move |event| {
        let _told = &told;
        let arrival = match event {
            Ok(event) => Arrival::Terminal(event),
            Err(error) => Arrival::TerminalFailed(error),
        };
        to_shell.send(arrival).is_ok()
    })
}

/// Ends the process by a signal, unless the shell does so in time.
fn end_by(signal: i32) {
    thread::sleep(GRACE);
    let (given, gave) = channel();
    // Waits for the shell where that is in the middle of writing.
    thread::spawn(move || {
        give_back();
        let _ = given.send(());
    });
    if gave.recv_timeout(GRACE).is_err() {
        give_back_modes();
    }
    // Fails for no signal that is watched.
    let _ = emulate_default_handler(signal);
}

/// Whether nobody would continue this process group if it stopped: none of its processes, as far as
/// this one descends from them, has a parent in another group of the session. The kernel does not
/// stop such a group for the terminal's sake (POSIX, "Orphaned Process Group").
pub(super) fn is_orphaned() -> bool {
    let (group, session) = (getpgrp(), getsid(None));
    let mut parent = Some(getppid());
    while let Some(process) = parent.filter(|process| process.as_raw() > 0) {
        if getsid(Some(process)) != session {
            return true;
        }
        if getpgid(Some(process)) != Ok(group) {
            return false;
        }
        parent = parent_of(process);
    }
    true
}

/// The parent of a process, by proc_pid_stat(5): the second field behind the name in parentheses.
fn parent_of(process: Pid) -> Option<Pid> {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    let (_, fields) = stat.rsplit_once(") ")?;
    fields.split(' ').nth(1)?.parse().ok().map(Pid::from_raw)
}

/// A key of the terminal as the viewer knows keys; `None` if it has no meaning here.
pub(super) fn to_key(event: KeyEvent) -> Option<Key> {
    let code = match event.code {
        KeyCode::Char(c) => Code::Char(c),
        KeyCode::Enter => Code::Enter,
        KeyCode::Esc => Code::Esc,
        KeyCode::Tab => Code::Tab,
        KeyCode::BackTab => Code::BackTab,
        KeyCode::Backspace => Code::Backspace,
        KeyCode::Delete => Code::Delete,
        KeyCode::Up => Code::Up,
        KeyCode::Down => Code::Down,
        KeyCode::Left => Code::Left,
        KeyCode::Right => Code::Right,
        KeyCode::PageUp => Code::PageUp,
        KeyCode::PageDown => Code::PageDown,
        KeyCode::Home => Code::Home,
        KeyCode::End => Code::End,
        _ => return None,
    };
    Some(Key {
        code,
        control: event.modifiers.contains(KeyModifiers::CONTROL),
        alt: event.modifiers.contains(KeyModifiers::ALT),
    })
}
