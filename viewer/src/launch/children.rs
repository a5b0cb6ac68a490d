//! Which child of this thread has ended or stopped: waitid(2), also of one that a signal without a
//! name has ended. nix(3) refuses to tell of real-time signals, by which any child may end.

#![expect(unsafe_code, reason = "waitid, whose answer nix cannot hold")]

use std::mem::MaybeUninit;

use nix::errno::Errno;
use nix::libc;
use nix::sys::wait::{Id, WaitPidFlag, waitid};
use nix::unistd::Pid;

/// A child that has ended or stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Changed {
    /// Which.
    pub pid: Pid,
    /// Whether a signal has stopped it.
    pub is_stopped: bool,
}

/// Of the program's threads, those that have asked to be traced are told of apart; until they are
/// reaped, the program does not end.
const CHANGES: WaitPidFlag =
    WaitPidFlag::WEXITED.union(WaitPidFlag::WSTOPPED).union(WaitPidFlag::__WNOTHREAD);

/// Waits for the next change and leaves it to be taken.
pub(super) fn next_change() -> Result<Changed, Errno> {
    let mut info = MaybeUninit::<libc::siginfo_t>::zeroed();
    let flags = (CHANGES | WaitPidFlag::WNOWAIT).bits();
    // SAFETY: the kernel fills the live structure.
    Errno::result(unsafe { libc::waitid(libc::P_ALL, 0, info.as_mut_ptr(), flags) })?;
    // SAFETY: plain words, zeros where nothing was written.
    let info = unsafe { info.assume_init() };
    // SAFETY: waitid(2) fills the fields of SIGCHLD.
    let pid = Pid::from_raw(unsafe { info.si_pid() });
    Ok(Changed { pid, is_stopped: info.si_code == libc::CLD_STOPPED })
}

/// Takes what a child has to tell, if there is something.
pub(super) fn take_change(pid: Pid) {
    // An error is of the signal's name; the kernel has told by then.
    let _ = waitid(Id::Pid(pid), CHANGES | WaitPidFlag::WNOHANG);
}
