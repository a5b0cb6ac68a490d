//! Periods that have passed on a clock and that no sample stood for.

use super::random_below;
use crate::sys::{self, Clock};

/// Counts the periods of one source of one thread.
#[derive(Debug)]
pub(super) struct Due {
    clock: Clock,
    /// In nanoseconds. Not 0.
    period_ns: u64,
    /// When the first period began, in nanoseconds of the clock.
    start_ns: u64,
    /// Periods accounted for since then.
    accounted: u64,
}

impl Due {
    /// From now on. The first period has begun at random before, or each thread would lose its unfinished one.
    pub(super) fn new(clock: Clock, period_ns: u64) -> Self {
        let start_ns = sys::now_ns(clock).saturating_sub(random_below(period_ns));
        Self { clock, period_ns, start_ns, accounted: 0 }
    }

    /// How many there are.
    pub(super) fn count(&self) -> u64 {
        let elapsed = sys::now_ns(self.clock).saturating_sub(self.start_ns);
        elapsed.checked_div(self.period_ns).unwrap_or(0).saturating_sub(self.accounted)
    }

    /// Accounts for all of them.
    pub(super) fn take(&mut self) -> u64 {
        let due = self.count();
        self.accounted += due;
        due
    }

    /// The same for a signal: it comes from another clock, which differs by a fraction of a period, so it
    /// is always worth one, and what that anticipates is not counted again.
    pub(super) fn take_one_or_more(&mut self) -> u64 {
        let due = self.count().max(1);
        self.accounted += due;
        due
    }
}
