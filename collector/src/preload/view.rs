//! What one thread of the program believes: whether it has blocked the profiling signal; and what
//! the wrappers remember about it.
//!
//! A few bytes of initial-exec thread-local storage, so that wrappers that run in signal handlers
//! (sigprocmask is async-signal-safe) reach them without `__tls_get_addr`, which may allocate. Only
//! the thread itself, a handler that interrupts it, or a child on its memory touches them:
//! single moves suffice.
//!
//! A child of fork has a copy. A new thread gets its creator's belief from
//! [`threads`](super::threads), as it inherits a signal mask; a program that is executed from the
//! kernel's mask, which [is told](super::signals::inherit) before.

use core::sync::atomic::{AtomicBool, Ordering};

use super::stub;
use crate::{arch, process};

arch::thread_bytes! {
    Beliefs: [u8; 4] = "csprof_view"
}

arch::thread_word! {
    /// What the kernel has blocked since the thread thinks that it has blocked a signal of samples;
    /// 0: not known. Where that is open again, a handler has blocked the signal, and has returned.
    pub(super) BlockedSince: u64 = "csprof_blocked_since"
}

/// Which byte.
#[derive(Clone, Copy, Debug)]
#[repr(usize)]
pub(super) enum Belief {
    /// The thread has blocked the profiling signal, it thinks.
    SignalBlocked = 0,
    /// The thread called dlopen and nobody has looked for new modules since.
    LoadUnseen = 1,
    /// The thread called vfork: what runs now may be the child, which has its memory.
    Vforked = 2,
    /// The thread has blocked SIGTRAP, it thinks, while samples come by it.
    TrapBlocked = 3,
}

arch::thread_word! {
    /// Number of the child on this memory that has told the kernel what the thread thinks is
    /// blocked; 0: none since the last one was made.
    pub(super) SettledChild: u64 = "csprof_settled_child"
}

/// Whether this process has made a child by clone(2) that runs on its memory beside it.
static HAS_CHILD_BESIDE: AtomicBool = AtomicBool::new(false);

/// To be called before such a child is made.
pub(super) fn note_child_beside() {
    HAS_CHILD_BESIDE.store(true, Ordering::Relaxed);
}

/// In the child of a fork, on whose memory nothing else runs.
pub(super) fn forget_child_beside() {
    HAS_CHILD_BESIDE.store(false, Ordering::Relaxed);
}

/// Whether this process is sampled, as `process::active()` says but for the moment in which it is
/// sealed; without a system call except after a vfork, and once there was a child that runs
/// [beside](note_child_beside) it. For wrappers that programs call often. Exec and fork ask the
/// kernel.
#[inline]
pub(super) fn sampled() -> bool {
    let may_be_child = Belief::Vforked.get() || HAS_CHILD_BESIDE.load(Ordering::Relaxed);
    stub::engaged() && (!may_be_child || is_parent())
}

/// The parent of a vfork runs again only when the child is gone.
#[cold]
fn is_parent() -> bool {
    let is_parent = process::is_of_this_process();
    if is_parent {
        Belief::Vforked.set(false);
    }
    is_parent
}

impl Belief {
    #[inline]
    pub(super) fn get(self) -> bool {
        Beliefs::get(self as usize) != 0
    }

    #[inline]
    pub(super) fn set(self, value: bool) {
        Beliefs::set(self as usize, u8::from(value));
    }
}
