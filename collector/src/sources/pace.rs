//! How often a process is interrupted by elapsed time.
//!
//! A timer of elapsed time interrupts each thread, also those that wait, so the interruptions grow
//! with the threads and not with the processors: 5000 threads at 200 samples per second are a
//! million each second. One takes a wake-up, a signal and a walk, 10 to 20 µs. So where threads are
//! many, each is interrupted once in several periods, and the sample stands for all of them.

use core::sync::atomic::{AtomicU64, Ordering};

use crate::sys;

/// Most interruptions per second that a processor has to bear: a tenth of its time.
const PER_PROCESSOR: u64 = 5_000;

/// The one that threads are interrupted at.
static PRESENT: AtomicU64 = AtomicU64::new(1);

/// Periods from one interruption of a thread to the next: a power of two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace(u64);

impl Pace {
    /// An interruption in each period.
    pub const EACH_PERIOD: Self = Self(1);

    /// The one that threads are interrupted at. Either side.
    #[must_use]
    pub fn present() -> Self {
        // Relaxed: a thread that sees it late is interrupted as before.
        Self(PRESENT.load(Ordering::Relaxed))
    }

    /// Has threads that begin, or change theirs, be interrupted at this one.
    pub fn make_present(self) {
        PRESENT.store(self.0, Ordering::Relaxed);
    }

    /// For so many threads that are sampled each `period_ns`, on the processors that this one may
    /// run on.
    #[must_use]
    pub fn of(threads: u64, period_ns: u64) -> Self {
        Self::on(sys::processors(), threads, period_ns)
    }

    fn on(processors: u64, threads: u64, period_ns: u64) -> Self {
        let most = processors.max(1) * PER_PROCESSOR;
        let wanted = threads.saturating_mul(1_000_000_000).div_ceil(period_ns.max(1));
        Self(wanted.div_ceil(most).clamp(1, 1 << 40).next_power_of_two())
    }

    /// Periods from one interruption to the next. At least 1.
    #[must_use]
    pub const fn periods(self) -> u64 {
        self.0
    }

    /// Whether `self` is to be given up for `wanted`: threads that come and go do not have all
    /// timers set each time.
    #[must_use]
    pub const fn is_to_become(self, wanted: Self) -> bool {
        wanted.0 > self.0 || wanted.0 * 4 <= self.0
    }
}

#[cfg(test)]
mod tests {
    use super::Pace;

    #[test]
    fn interruptions_stay_below_the_bound() {
        let pace = |processors, threads, rate: u64| {
            Pace::on(processors, threads, 1_000_000_000 / rate).periods()
        };
        assert_eq!([pace(2, 1, 200), pace(2, 50, 200), pace(2, 51, 200)], [1, 1, 2]);
        assert_eq!([pace(1, 1, 5_000), pace(1, 1, 100_000)], [1, 32]);
        for threads in [1, 7, 50, 5_000, 1 << 22] {
            for rate in [1, 200, 5_000, 100_000] {
                let interruptions = threads * rate / pace(2, threads, rate);
                assert!(interruptions <= 10_000, "{threads} threads at {rate}: {interruptions}");
            }
        }
    }

    #[test]
    fn a_pace_does_not_swing() {
        let becomes = |now, wanted| Pace(now).is_to_become(Pace(wanted));
        assert_eq!(
            [becomes(1, 2), becomes(2, 1), becomes(4, 1), becomes(4, 4)],
            [true, false, true, false]
        );
    }
}
