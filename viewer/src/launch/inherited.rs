//! What a program inherits from whoever starts it, and csprof changes for itself: the signal mask,
//! whether SIGCHLD and SIGPIPE are ignored, and which of the standard streams are closed; and the
//! environment, whose order a program may show.
//!
//! csprof must hear of the program's end, which an ignored SIGCHLD hides (wait(2)); Rust's runtime
//! ignores SIGPIPE before `main`, and opens /dev/null in the place of standard streams that are
//! closed; `std::process` sorts an environment that differs from csprof's, and gives a child the
//! default and an empty mask.
//! The program gets what it would have got without csprof. What runs between fork and exec for that
//! also keeps `std::process` from posix_spawn(3), whose children ignore two signals of glibc's own.

#![expect(unsafe_code, reason = "dispositions of signals, also between fork and exec")]

use std::ffi::{CStr, CString, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};

use nix::libc;
use nix::sys::signal::{SaFlags, SigAction, SigHandler, SigSet, Signal, sigaction};
use nix::unistd::setsid;

/// Whether SIGPIPE was ignored before Rust's runtime began.
static PIPE_IGNORED: AtomicBool = AtomicBool::new(false);

/// Which standard streams were closed then.
static CLOSED: [AtomicBool; 3] = [const { AtomicBool::new(false) }; 3];

/// Notes what the runtime is about to change. To be called from the program's `.init_array`.
pub extern "C" fn note() {
    PIPE_IGNORED.store(is_ignored(libc::SIGPIPE), Ordering::Relaxed);
    for (number, closed) in (0..).zip(&CLOSED) {
        // SAFETY: asks for flags, and touches no memory.
        closed.store(unsafe { libc::fcntl(number, libc::F_GETFD) } < 0, Ordering::Relaxed);
    }
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
    closed: [bool; 3],
    mask: SigSet,
}

/// An environment for exec(3).
#[derive(Debug)]
pub(super) struct Environment {
    strings: Vec<CString>,
}

impl Environment {
    /// csprof's own, in its order, with other values of some variables; those that are not there
    /// come last, those of which the value is `None` are left out.
    pub(super) fn changed(changes: &[(&str, Option<OsString>)]) -> Self {
        Self::of(own_environment(), changes)
    }

    fn of(own: Vec<CString>, changes: &[(&str, Option<OsString>)]) -> Self {
        let mut changes: Vec<_> = changes.iter().map(Some).collect();
        let is_of = |string: &CString, name: &str| {
            let rest = string.to_bytes().strip_prefix(name.as_bytes());
            rest.is_some_and(|rest| rest.starts_with(b"="))
        };
        let names: Vec<&str> = changes.iter().flatten().map(|(name, _)| *name).collect();
        let made = |(name, value): &(&str, Option<OsString>)| {
            let value = value.as_ref()?.as_bytes();
            CString::new([name.as_bytes(), b"=", value].concat()).ok()
        };
        let mut strings = Vec::new();
        for string in own {
            match names.iter().position(|name| is_of(&string, name)) {
                None => strings.push(string),
                // In the place of the first one; further ones of this name are left out.
                Some(number) => strings.extend(changes[number].take().and_then(made)),
            }
        }
        strings.extend(changes.into_iter().flatten().filter_map(made));
        Self { strings }
    }
}

/// What execve(2) gave csprof: also strings that are no variables, and names that are there twice.
fn own_environment() -> Vec<CString> {
    unsafe extern "C" {
        static environ: *const *const libc::c_char;
    }
    let mut strings = Vec::new();
    // SAFETY: csprof changes its environment nowhere; the vector ends with a null pointer.
    unsafe {
        let mut at = environ;
        while !at.is_null() && !(*at).is_null() {
            strings.push(CStr::from_ptr(*at).to_owned());
            at = at.add(1);
        }
    }
    strings
}

/// Has `command` execute with this environment, of which it knows nothing.
pub(super) fn give_environment(command: &mut Command, environment: Environment) {
    unsafe extern "C" {
        static mut environ: *const *const libc::c_char;
    }
    let strings = environment.strings;
    let pointers = strings.iter().map(|string| string.as_ptr().expose_provenance());
    let pointers: Vec<usize> = pointers.chain([0]).collect();
    let give = move || {
        // The strings belong to the closure, and so live until the child executes.
        let _ = &strings;
        // SAFETY: the only thread of the child; `std::process` executes with whatever this is.
        unsafe { environ = pointers.as_ptr().cast() };
        Ok(())
    };
    // SAFETY: the closure allocates nothing.
    unsafe { command.pre_exec(give) };
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
            closed: CLOSED.each_ref().map(|closed| closed.load(Ordering::Relaxed)),
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
            for (number, _) in (0..).zip(self.closed).filter(|(_, closed)| *closed) {
                // SAFETY: /dev/null, which Rust's runtime has opened there; async-signal-safe.
                unsafe { libc::close(number) };
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_environment_keeps_its_order() {
        let own = ["B=1", "PRE=x", "no variable", "A=2", "PRE=y", "B=3", "GONE=1", "PREFIX=z"];
        let own = own.map(|string| CString::new(string).unwrap()).to_vec();
        let changes = [("NEW", Some("n".into())), ("PRE", Some("c:x".into())), ("GONE", None)];
        let strings = Environment::of(own, &changes).strings;
        let strings: Vec<_> = strings.iter().map(|string| string.to_str().unwrap()).collect();
        let expected = ["B=1", "PRE=c:x", "no variable", "A=2", "B=3", "PREFIX=z", "NEW=n"];
        assert_eq!(strings, expected);
    }
}
