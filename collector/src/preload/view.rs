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
    Beliefs: [u8; 6] = "csprof_view"
}

arch::thread_bytes! {
    /// Calls, of which the assembly of the stubs knows, and as many of them as the program has
    /// taken the mask of.
    UnderWay: [u8; 2] = "csprof_waits_under_way"
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
    /// The thread is in a call of MPI that is counted.
    InMpi = 4,
    /// The child of the thread's last vfork has told the kernel what the thread thinks.
    ChildSettled = 5,
}

/// Calls of the thread that are under way with a mask of csprof's, which blocks the profiling
/// signal. There are several if a handler has interrupted one and makes another. One that was left
/// by a jump has left its mask behind; an exception, its count as well.
///
/// What a handler of the program's finds blocked is the mask of the innermost: it *holds*, until
/// the handler blocks the signal itself. In the program's handler for that very signal none does,
/// for it came when it was open.
#[derive(Debug)]
pub(super) struct Waits;

impl Waits {
    const COUNT: usize = 0;
    /// Calls that were under way when the program took the mask over. More than there are: they
    /// have returned.
    const TAKEN_OVER: usize = 1;

    /// Whether there are any.
    #[inline]
    pub(super) fn any() -> bool {
        UnderWay::get(Self::COUNT) != 0
    }

    /// Whether the mask that the innermost call was made with is in force, and not the program's.
    #[inline]
    pub(super) fn hold() -> bool {
        let count = UnderWay::get(Self::COUNT);
        count != 0 && count != UnderWay::get(Self::TAKEN_OVER)
    }

    #[inline]
    pub(super) fn enter() {
        let count = UnderWay::get(Self::COUNT);
        if UnderWay::get(Self::TAKEN_OVER) > count {
            Self::give_back();
        }
        UnderWay::set(Self::COUNT, count.saturating_add(1));
    }

    #[inline]
    pub(super) fn leave() {
        UnderWay::set(Self::COUNT, UnderWay::get(Self::COUNT).saturating_sub(1));
    }

    pub(super) fn leave_all() {
        UnderWay::set(Self::COUNT, 0);
        Self::give_back();
    }

    /// What is blocked of the signals of samples is so for the program. Signal side.
    #[inline]
    pub(super) fn take_over() {
        UnderWay::set(Self::TAKEN_OVER, UnderWay::get(Self::COUNT));
    }

    /// What will be blocked of them, after the handler, is so for csprof.
    #[inline]
    pub(super) fn give_back() {
        UnderWay::set(Self::TAKEN_OVER, 0);
    }
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
