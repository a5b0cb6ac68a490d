//! The control page: what a run is told while it goes on.
//!
//! A small file in the run folder, beside the arenas, that every process of the run maps to read.
//! `csprof record` makes it; it and `csprof control` change it, with the file locked. Nobody is
//! told: each thread looks when its next sample is due.

use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use super::MAX_SOURCES;

/// Name of the file in [`RUN_DIR`](super::RUN_DIR).
pub const CONTROL: &str = "control";
/// Bytes of the file.
pub const CONTROL_BYTES: usize = 4096;
/// First bytes of the file. The last of them is the version of its layout.
pub const CONTROL_MAGIC: u64 = u64::from_le_bytes(*b"csprofc\x01");
/// What a warning of a profile begins with that says when sampling was paused.
pub const PAUSED: &str = "sampling was paused";
/// What one begins with that tells of a changed rate.
pub const RATE: &str = "the rate of ";

/// Number of the first phase that `csprof control` begins: beyond all that processes give, and
/// those of slices.
pub const FIRST_ASKED_PHASE: u32 = 1 << 16;

/// The beginning of the file; zeros follow.
#[derive(Debug)]
#[repr(C)]
pub struct ControlPage {
    /// [`CONTROL_MAGIC`].
    pub magic: u64,
    /// A [`RunClock`].
    pub clock: AtomicU64,
    /// The same, written before: where the two differ, somebody is writing.
    pub clock_again: AtomicU64,
    /// `CLOCK_MONOTONIC` when the clock last changed, in nanoseconds.
    pub changed_ns: AtomicU64,
    /// 1 if sampling has ended for good.
    pub stopped: AtomicU32,
    /// How often sampling was begun or resumed.
    pub begun: AtomicU32,
    /// 1 if nobody gathers the run at its end: it was prepared for who might ask for it.
    pub prepared: AtomicU32,
    /// Of such a run, what [`begun`](Self::begun) was when all that it had was last saved.
    pub saved: AtomicU32,
    /// Of each source, by number of its metric, periods from one sample to the next; 0 means 1.
    pub every: [AtomicU32; MAX_SOURCES],
    /// Number of the phase of all processes that goes on: of a slice of time, from 1, or from
    /// [`FIRST_ASKED_PHASE`] on; 0 if they have phases of their own.
    pub phase: AtomicU32,
}

const _: () = assert!(size_of::<ControlPage>() <= CONTROL_BYTES);

/// The time of a run that passes while it is not paused, as one word: so that who reads it needs no
/// lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunClock(pub u64);

impl RunClock {
    /// Never paused.
    pub const NEVER_PAUSED: Self = Self(0);

    /// Whether the run is paused.
    #[must_use]
    pub const fn is_paused(self) -> bool {
        self.0 & 1 == 1
    }

    /// The time at `now_ns` of `CLOCK_MONOTONIC`, in nanoseconds: that clock less the pauses.
    #[must_use]
    pub const fn at(self, now_ns: u64) -> u64 {
        if self.is_paused() { self.0 >> 1 } else { now_ns.saturating_sub(self.0 >> 1) }
    }

    /// Nanoseconds of all pauses up to `now_ns`.
    #[must_use]
    pub const fn paused_ns(self, now_ns: u64) -> u64 {
        now_ns.saturating_sub(self.at(now_ns))
    }

    /// Paused from `now_ns` on; as it is if it was paused before.
    #[must_use]
    pub const fn pause(self, now_ns: u64) -> Self {
        if self.is_paused() { self } else { Self(self.at(now_ns) << 1 | 1) }
    }

    /// Not paused from `now_ns` on; as it is if it was not.
    #[must_use]
    pub const fn resume(self, now_ns: u64) -> Self {
        if self.is_paused() { Self(self.paused_ns(now_ns) << 1) } else { self }
    }
}

impl ControlPage {
    /// The clock, and whether it holds: else it is being changed at this moment.
    #[must_use]
    #[inline]
    pub fn clock(&self) -> (RunClock, bool) {
        // Acquire: the second one, and when it changed, are those of this one or later.
        let clock = self.clock.load(Ordering::Acquire);
        (RunClock(clock), self.clock_again.load(Ordering::Acquire) == clock)
    }

    /// Periods from one sample of a source to the next. At least 1.
    #[must_use]
    #[inline]
    pub fn every(&self, metric: usize) -> u64 {
        let every = self.every.get(metric).map_or(1, |every| every.load(Ordering::Relaxed));
        u64::from(every.max(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_are_no_time_of_the_run() {
        let clock = RunClock::NEVER_PAUSED;
        assert_eq!((clock.at(7), clock.paused_ns(7)), (7, 0));
        let paused = clock.pause(10);
        assert_eq!((paused.at(10), paused.at(15), paused.paused_ns(15)), (10, 10, 5));
        assert_eq!(paused.pause(12), paused);
        let again = paused.resume(30);
        assert_eq!((again.at(30), again.at(35), again.paused_ns(35)), (10, 15, 20));
        assert_eq!(again.resume(40), again);
        let second = again.pause(40).resume(41);
        assert_eq!((second.at(41), second.paused_ns(50)), (20, 21));
        assert!(paused.is_paused() && !second.is_paused());
    }
}
