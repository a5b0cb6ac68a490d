//! The terminal is given back, too, where the viewer ends itself by abort(3): memory is used up, or
//! a panic meets another one. Nothing of Rust is dropped then, and no other thread comes to it.
//!
//! Of an abort that somebody else sends, the thread that waits for signals is told.

#![expect(unsafe_code, reason = "a handler, which may call little")]

use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use nix::errno::Errno;
use nix::libc;
use nix::sys::signal::{SaFlags, SigAction, SigHandler, SigSet, Signal, sigaction};
use nix::sys::termios::tcgetattr;

/// Whether the terminal is taken over at present. Neither the panic hook nor the handler has
/// another way to know.
pub(super) static TAKEN: AtomicBool = AtomicBool::new(false);

/// The terminal's modes before it was taken over first.
static MODES: OnceLock<libc::termios> = OnceLock::new();

/// What gives it back. The abort may have come within a sequence, which CAN ends (ECMA-48, 8.3.6);
/// then as `give_back`.
const LEAVE: &[u8] = b"\x18\x1b[?2026l\x1b[?1006l\x1b[?1002l\x1b[?2004l\x1b[?1049l\x1b[?25h";

/// How long the handler waits for a terminal that is held (Ctrl-S), in milliseconds.
const GRACE_MS: libc::c_int = 1000;

/// Remembers the modes to go back to. To be called before they are changed.
pub(super) fn remember_modes() {
    if let Ok(modes) = tcgetattr(io::stdout().as_fd()) {
        MODES.get_or_init(|| modes.into());
    }
}

/// Has an abort give the terminal back. To be called before others ask for the signal: who comes
/// later calls this handler first.
pub(super) fn give_back_on_abort() {
    let action =
        SigAction::new(SigHandler::SigAction(on_abort), SaFlags::SA_SIGINFO, SigSet::empty());
    // SAFETY: the handler is async-signal-safe.
    let before = unsafe { sigaction(Signal::SIGABRT, &action) };
    if let Ok(before) = before
        && !matches!(before.handler(), SigHandler::SigDfl)
    {
        // Somebody has it already, and is told.
        // SAFETY: it was there before.
        let _ = unsafe { sigaction(Signal::SIGABRT, &before) };
    }
}

/// Gives the terminal back, if it was this process that has sent the signal. It ends when this
/// returns (abort(3)).
extern "C" fn on_abort(_: libc::c_int, info: *mut libc::siginfo_t, _: *mut libc::c_void) {
    let error = Errno::last_raw();
    // SAFETY: the kernel passes a valid one, in which who sends a signal has its number.
    let is_own = unsafe { (*info).si_code <= 0 && (*info).si_pid() == libc::getpid() };
    if is_own && TAKEN.swap(false, Ordering::Relaxed) {
        let terminal = io::stdout().as_raw_fd();
        if let Some(modes) = MODES.get() {
            // SAFETY: live modes.
            unsafe { libc::tcsetattr(terminal, libc::TCSANOW, modes) };
        }
        let mut ready = libc::pollfd { fd: terminal, events: libc::POLLOUT, revents: 0 };
        // SAFETY: one live entry; live bytes. The terminal is the process's own.
        unsafe {
            if libc::poll(&raw mut ready, 1, GRACE_MS) > 0 {
                libc::write(terminal, LEAVE.as_ptr().cast(), LEAVE.len());
            }
        }
    }
    Errno::set_raw(error);
}
