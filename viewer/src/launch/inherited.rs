//! What a program inherits from whoever starts it, and csprof changes for itself: the signal mask,
//! and whether SIGCHLD and SIGPIPE are ignored.
//!
//! csprof must hear of the program's end, which an ignored SIGCHLD hides (wait(2)); Rust's runtime
//! ignores SIGPIPE before `main`, and `std::process` gives a child the default and an empty mask.
//! The program gets what it would have got without csprof. What runs between fork and exec for that
//! also keeps `std::process` from posix_spawn(3), whose children ignore two signals of glibc's own.

#![expect(unsafe_code, reason = "dispositions of signals, also between fork and exec")]

use std::os::unix::process::CommandExt;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};

use nix::libc;
use nix::sys::signal::{SaFlags, SigAction, SigHandler, SigSet, Signal, sigaction};
use nix::unistd::setsid;

/// Whether SIGPIPE was ignored before Rust's runtime began.
static PIPE_IGNORED: AtomicBool = AtomicBool::new(false);

/// Notes what the runtime is about to change. To be called from the program's `.init_array`.
pub extern "C" fn note() {
    PIPE_IGNORED.store(is_ignored(libc::SIGPIPE), Ordering::Relaxed);
}

/// Whether this process ignores a signal.
pub fn is_ignored(signal: i32) -> bool {
    let mut action = std::mem::MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: nothing is changed; the C library fills the live structure.
    let asked = unsafe { libc::sigaction(signal, std::ptr::null(), action.as_mut_ptr()) };
    // SAFETY: plain words, zeros where nothing was written.
    asked == 0 && unsafe { action.assume_init() }.sa_sigaction == libc::SIG_IGN
}

/// What was inherited.
#[derive(Clone, Copy, Debug)]
pub struct Inherited {
    child_ignored: bool,
    pipe_ignored: bool,
    mask: SigSet,
}

impl Inherited {
    /// Takes what csprof itself cannot live with away.
    #[must_use]
    pub fn take() -> Self {
        let child_ignored = is_ignored(libc::SIGCHLD);
        if child_ignored {
            let default = SigAction::new(SigHandler::SigDfl, SaFlags::empty(), SigSet::empty());
            // SAFETY: no handler is installed.
            let _ = unsafe { sigaction(Signal::SIGCHLD, &default) };
        }
        Self {
            child_ignored,
            pipe_ignored: PIPE_IGNORED.load(Ordering::Relaxed),
            mask: SigSet::thread_get_mask().unwrap_or_else(|_| SigSet::empty()),
        }
    }

    /// Has `command` give it to the program.
    pub fn give_to(self, command: &mut Command) {
        let give = move || {
            for (is_ignored, signal) in
                [(self.child_ignored, libc::SIGCHLD), (self.pipe_ignored, libc::SIGPIPE)]
            {
                if is_ignored {
                    // SAFETY: no handler is installed; async-signal-safe.
                    unsafe { libc::signal(signal, libc::SIG_IGN) };
                }
            }
            self.mask.thread_set_mask()?;
            Ok(())
        };
        // SAFETY: the closure allocates nothing and makes system calls only.
        unsafe { command.pre_exec(give) };
    }
}

/// Has `command` begin in a session of its own, deaf to the signals by which people and launchers
/// end jobs: also before its `main`.
pub(super) fn set_apart(command: &mut Command) {
    let set = || {
        setsid()?;
        for signal in [libc::SIGTERM, libc::SIGHUP, libc::SIGINT, libc::SIGQUIT] {
            // SAFETY: no handler of this process is there any more; async-signal-safe.
            unsafe { libc::signal(signal, libc::SIG_IGN) };
        }
        Ok(())
    };
    // SAFETY: the closure allocates nothing and makes system calls only.
    unsafe { command.pre_exec(set) };
}
