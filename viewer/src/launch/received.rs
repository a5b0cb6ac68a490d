//! Signals that this process receives, with who has sent them (sigaction(2), `SA_SIGINFO`).
//!
//! A handler writes them to a pipe, from which a thread reads. It stays when nobody listens any
//! more: a signal is then taken, and that is all. What the processor reports of an instruction
//! (SIGSEGV and its kind) looks like what another process sends, but for its code: csprof's own
//! faults end it as they would without the handler. So does its own abort(3), which asks for the
//! default action when the handler has returned.

#![expect(unsafe_code, reason = "handlers of signals, which are to know who has sent them")]

use std::fs::File;
use std::io::{self, Read as _};
use std::mem::MaybeUninit;
use std::os::fd::{IntoRawFd as _, RawFd};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicI32, Ordering};
use std::thread;
use std::time::Duration;

use nix::errno::Errno;
use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::libc;
use nix::unistd::{Pid, pipe2};

/// Where handlers write to, or −1. Never closed: a handler may be about to write to this number.
static PIPE: AtomicI32 = AtomicI32::new(-1);

/// Signals by which the kernel reports what an instruction has done.
const FAULTS: [i32; 6] =
    [libc::SIGSEGV, libc::SIGBUS, libc::SIGILL, libc::SIGFPE, libc::SIGTRAP, libc::SIGSYS];

/// What was done about each of them before.
static BEFORE: [OnceLock<libc::sigaction>; FAULTS.len()] =
    [const { OnceLock::new() }; FAULTS.len()];

/// Who has sent a signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sender {
    /// The kernel: for a terminal, a limit, a timer or a file.
    Kernel,
    /// A process, by its id here.
    Process(u32),
}

/// A signal that was received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Received {
    pub(super) signal: i32,
    pub(super) sender: Sender,
}

/// The end of the pipe from which signals are read.
#[derive(Debug)]
pub(super) struct Inbox(File);

/// Takes signals from construction to drop.
#[derive(Debug)]
pub(super) struct Taking(RawFd);

/// Begins to take no signal yet. What comes goes to who has begun last.
///
/// # Errors
///
/// When there can be no pipe.
pub(super) fn begin() -> io::Result<(Taking, Inbox)> {
    let (from, to) = pipe2(OFlag::O_CLOEXEC)?;
    // A handler must not wait for who reads.
    fcntl(&to, FcntlArg::F_SETFL(OFlag::O_NONBLOCK))?;
    let to = to.into_raw_fd();
    PIPE.store(to, Ordering::Relaxed);
    Ok((Taking(to), Inbox(File::from(from))))
}

impl Taking {
    /// Takes one more.
    ///
    /// # Errors
    ///
    /// When it cannot be taken.
    pub(super) fn add(&self, signal: i32) -> io::Result<()> {
        let mut found = MaybeUninit::<libc::sigaction>::zeroed();
        // SAFETY: nothing is changed; the C library fills the live structure.
        Errno::result(unsafe { libc::sigaction(signal, std::ptr::null(), found.as_mut_ptr()) })?;
        if let Some(before) = before(signal) {
            // SAFETY: plain words, which were written. The first of them stays.
            let _ = before.set(unsafe { found.assume_init() });
        }
        // SAFETY: all zeros is a valid value of this plain structure: no flags, an empty mask.
        let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
        let handler: extern "C" fn(i32, *mut libc::siginfo_t, *mut libc::c_void) = on_signal;
        action.sa_sigaction = handler as usize;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_RESTART | libc::SA_ONSTACK;
        // SAFETY: the handler is async-signal-safe.
        Errno::result(unsafe { libc::sigaction(signal, &raw const action, std::ptr::null_mut()) })?;
        Ok(())
    }
}

impl Drop for Taking {
    fn drop(&mut self) {
        let _ = PIPE.compare_exchange(self.0, -1, Ordering::Relaxed, Ordering::Relaxed);
        // Where a flood of signals has filled the pipe: handlers add no more.
        while !note(self.0, NOBODY_LISTENS) && Errno::last() == Errno::EAGAIN {
            thread::sleep(Duration::from_millis(1));
        }
    }
}

impl Inbox {
    /// Waits for the next one; `None` when nobody takes signals any more.
    pub(super) fn next(&mut self) -> Option<Received> {
        let mut record = [0; RECORD];
        self.0.read_exact(&mut record).ok()?;
        let [signal, code, pid] = numbers(record);
        if signal == NOBODY_LISTENS[0] {
            return None;
        }
        let is_of_kernel =
            matches!(code, libc::SI_TIMER | libc::SI_MESGQ | libc::SI_ASYNCIO | libc::SI_SIGIO);
        // rt_sigqueueinfo(2) lets a process choose any other one below.
        let is_of_process = code <= 0 && !is_of_kernel;
        let sender = match is_of_process {
            true => Sender::Process(pid.cast_unsigned()),
            false => Sender::Kernel,
        };
        Some(Received { signal, sender })
    }
}

/// Sends a process a signal, which may be one without a name (a real-time signal).
///
/// # Errors
///
/// When there is no such process any more, or it is another user's.
pub(super) fn send(process: Pid, signal: i32) -> nix::Result<()> {
    // SAFETY: takes no pointers.
    Errno::result(unsafe { libc::kill(process.as_raw(), signal) }).map(drop)
}

/// Bytes of a record in the pipe, which are written at once (pipe(7), `PIPE_BUF`): signal, code and
/// sender.
const RECORD: usize = 12;

/// The last record, of no signal.
const NOBODY_LISTENS: [i32; 3] = [0; 3];

/// Writes a record; whether there was room for it. Async-signal-safe.
fn note(pipe: i32, record: [i32; 3]) -> bool {
    let record = record.map(i32::to_ne_bytes);
    // SAFETY: bytes of a live array; the number is that of a pipe which is never closed, or none.
    unsafe { libc::write(pipe, record.as_ptr().cast(), RECORD) > 0 }
}

fn numbers(record: [u8; RECORD]) -> [i32; 3] {
    let [a, b, c, d, e, f, g, h, i, j, k, l] = record;
    [[a, b, c, d], [e, f, g, h], [i, j, k, l]].map(i32::from_ne_bytes)
}

fn before(signal: i32) -> Option<&'static OnceLock<libc::sigaction>> {
    BEFORE.get(FAULTS.iter().position(|of| *of == signal)?)
}

/// Writes what has come to the pipe. Async-signal-safe.
extern "C" fn on_signal(signal: i32, info: *mut libc::siginfo_t, _: *mut libc::c_void) {
    let error = Errno::last_raw();
    // SAFETY: the kernel passes a valid one; where it has no sender, plain words.
    let (code, pid) = unsafe { ((*info).si_code, (*info).si_pid()) };
    match before(signal).filter(|_| code > 0) {
        Some(before) => own_fault(signal, before.get()),
        None => drop(note(PIPE.load(Ordering::Relaxed), [signal, code, pid])),
    }
    Errno::set_raw(error);
}

/// csprof itself has made it: what was done before about it is done.
fn own_fault(signal: i32, before: Option<&libc::sigaction>) {
    let Some(before) = before else { return };
    // SAFETY: an action that was there before.
    unsafe { libc::sigaction(signal, before, std::ptr::null_mut()) };
    // The instruction is tried again when this handler returns. Behind these it is not.
    if matches!(signal, libc::SIGTRAP | libc::SIGSYS) {
        // SAFETY: async-signal-safe.
        unsafe { libc::raise(signal) };
    }
}
