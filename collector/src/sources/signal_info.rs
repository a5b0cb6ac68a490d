//! The signal that samples come by, and what it says of its source.

/// The profiling signal. [SIGTRAP](super::loan::TRAP) may be a second one.
pub const SIGNAL: i32 = libc::SIGPROF;

/// What every cookie begins with, in the two bytes that are 0 in an address: no program gives a
/// timer of its own such a value.
const COOKIE_TAG: u64 = 0xc5f0 << 48;

/// The cookie of what is at `address`.
#[must_use]
pub const fn cookie(address: usize) -> usize {
    address | COOKIE_TAG as usize
}

/// Whether a timer of csprof's has sent the signal, whatever has become of it meanwhile.
#[must_use]
pub fn is_by_own_timer(signal: &SignalInfo) -> bool {
    signal.code == libc::SI_TIMER && signal.value & (0xffff << 48) == COOKIE_TAG
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
