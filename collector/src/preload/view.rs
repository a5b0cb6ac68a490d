//! What one thread of the program believes: whether it has blocked the profiling signal; and what
//! the wrappers remember about it.
//!
//! A few bytes of initial-exec thread-local storage, so that wrappers that run in signal handlers
//! (sigprocmask is async-signal-safe) reach them without `__tls_get_addr`, which may allocate. Only
//! the thread itself, or a handler that interrupts it, touches them: single-byte moves suffice.
//!
//! A child of fork has a copy. A new thread gets its creator's belief from
//! [`threads`](super::threads), as it inherits a signal mask; a program that is executed from the
//! kernel's mask, which [is told](super::signals::inherit) before.

use super::stub;
use crate::{arch, process};

arch::thread_bytes! {
    Beliefs: [u8; 5] = "csprof_view"
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
    /// The child of the thread's last vfork has told the kernel what the thread thinks.
    ChildSettled = 4,
}

/// Whether this process is sampled, as `process::active()` says, but without a system call except
/// after a vfork. For wrappers that programs call often.
///
/// The child of a clone(2) by hand is taken for its parent. Exec and fork ask the kernel.
#[inline]
pub(super) fn sampled() -> bool {
    stub::engaged() && (!Belief::Vforked.get() || still_parent())
}

/// The parent of a vfork runs again only when the child is gone.
#[cold]
fn still_parent() -> bool {
    let parent = process::active();
    if parent {
        Belief::Vforked.set(false);
    }
    parent
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
