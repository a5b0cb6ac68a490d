//! The signal that samples come by, and what it says of its source.

#![expect(unsafe_code, reason = "a structure of the kernel's by another name")]

use core::sync::atomic::Ordering;

use csprof_format::launch::MOST_PHASE_FUNCTIONS;

use crate::process::{self, Process};
use crate::sys;

/// The profiling signal. [SIGTRAP](super::loan::TRAP) may be a second one.
pub const SIGNAL: i32 = libc::SIGPROF;

/// What every cookie begins with, in the two bytes that are 0 in an address: no program gives a
/// timer of its own such a value.
const COOKIE_TAG: u64 = 0xc5f0 << 48;

/// The same of entries of functions.
const ENTRY_TAG: u64 = 0xc5f1 << 48;

/// The first cookie of the sources of the thread whose state is at `address`.
#[must_use]
pub(super) const fn cookie(address: usize) -> usize {
    address | COOKIE_TAG as usize
}

/// The same of entries of functions.
#[must_use]
pub(super) const fn entry_cookie(address: usize) -> usize {
    address | ENTRY_TAG as usize
}

/// Whether a timer of csprof's has sent the signal, whatever has become of it meanwhile.
#[must_use]
pub fn is_by_own_timer(signal: &SignalInfo) -> bool {
    signal.code == libc::SI_TIMER && signal.value & (0xffff << 48) == COOKIE_TAG
}

/// Whether csprof's own sources may have sent the signal, though it is no sample of theirs (any
/// more). A timer that is deleted may have one under way (before Linux 6.13); so may an event whose
/// thread has ended, which leaves no trace of where it came from if the kernel had no memory for
/// that. Anything else is sent by a process, or by a timer or a file of the program's.
#[must_use]
pub fn may_be_own(info: &libc::siginfo_t) -> bool {
    let uses_events = || process::current().is_some_and(Process::uses_events);
    let signal = SignalInfo::of(info);
    match signal.code {
        libc::SI_TIMER => is_by_own_timer(signal),
        libc::SI_KERNEL => false,
        // What a process sends has its id where a timer has its number.
        libc::SI_USER => signal.timer == 0 && uses_events(),
        // The program may have files of its own tell it by this signal, too (F_SETSIG, fcntl(2)).
        code if code > 0 && signal.signo == SIGNAL => {
            uses_events() && signal.value as u32 >= sys::SMALLEST_OWN.load(Ordering::Relaxed)
        }
        code => code > 0,
    }
}

/// The parts of `siginfo_t` that sources use (include/uapi/asm-generic/siginfo.h, 64 bit).
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct SignalInfo {
    /// Signal number.
    pub signo: i32,
    errno: i32,
    /// Where the signal comes from: `SI_TIMER`, `POLL_IN`, …
    pub code: i32,
    pad: i32,
    /// Timers: the kernel's number of the timer. Events: low half of the band, or of an address.
    pub timer: i32,
    /// Timers: periods that passed beyond the one that sent the signal.
    pub overrun: i32,
    /// Timers, and events by SIGTRAP: the cookie. Other events: the file number, in the low half.
    pub value: u64,
}

impl SignalInfo {
    /// The same structure, by this name.
    pub(super) const fn of(info: &libc::siginfo_t) -> &Self {
        // SAFETY: siginfo_t is at least as large, and both are plain numbers.
        unsafe { &*core::ptr::from_ref(info).cast::<Self>() }
    }
}

/// The number of the source of a metric among the events of a thread. Those of entries come before:
/// an event whose file numbers are all taken gets a larger one, which is no entry's.
pub(super) const fn apart(metric: usize) -> usize {
    MOST_PHASE_FUNCTIONS + metric
}
