//! Periods that have passed on a clock and that no sample stood for.

use crate::control;
use crate::sys::{self, Clock};

/// Counts the periods of one source of one thread.
#[derive(Debug)]
pub(super) struct Due {
    clock: Clock,
    /// In nanoseconds. Not 0.
    period_ns: u64,
    /// When the first period began, in nanoseconds of the clock; of elapsed time, of the run's.
    start_ns: u64,
    /// The same where pauses count, too.
    begun_ns: u64,
    /// Periods accounted for since then.
    accounted: u64,
}

impl Due {
    /// From now on. The first period has begun at random before, or each thread would lose its
    /// unfinished one.
    pub(super) fn new(clock: Clock, period_ns: u64) -> Self {
        Self::within(clock, period_ns, random_below(period_ns))
    }

    /// From now on, where so much of the first period has passed.
    pub(super) fn within(clock: Clock, period_ns: u64, passed_ns: u64) -> Self {
        let now_ns = sys::now_ns(clock);
        let start_ns = in_run(clock, now_ns).saturating_sub(passed_ns);
        let begun_ns = now_ns.saturating_sub(passed_ns);
        Self { clock, period_ns, start_ns, begun_ns, accounted: 0 }
    }

    /// There are so many more, from before.
    pub(super) fn add(&mut self, periods: u64) {
        let before_ns = periods.saturating_mul(self.period_ns);
        self.start_ns = self.start_ns.saturating_sub(before_ns);
        self.begun_ns = self.begun_ns.saturating_sub(before_ns);
    }

    /// How many there are.
    pub(super) fn count(&self) -> u64 {
        self.passed().saturating_sub(self.accounted)
    }

    /// Accounts for all of them.
    pub(super) fn take(&mut self) -> u64 {
        let due = self.count();
        self.accounted += due;
        due
    }

    /// The same for a signal of the clock's own timer, which is worth one at least. A timer that
    /// was set anew may be early by a part of a period; what that anticipates is not counted again.
    pub(super) fn take_for_timer(&mut self) -> u64 {
        let due = self.count().max(1);
        self.accounted += due;
        due
    }

    /// The same for a signal that comes by another clock, so that it may come before its period has
    /// passed: it is then worth 1, in advance. Until that period has passed, further signals are
    /// worth 0: where a hypervisor takes time from the machine, the kernel's events go on, and the
    /// CPU time of threads does not.
    pub(super) fn take_for_event(&mut self) -> u64 {
        let passed = self.passed();
        let due = passed.saturating_sub(self.accounted).max(u64::from(self.accounted <= passed));
        self.accounted += due;
        due
    }

    /// How many have passed since the first began.
    fn passed(&self) -> u64 {
        let now_ns = sys::now_ns(self.clock);
        // No more than passed with pauses, whatever the page says: a container may have another
        // monotonic clock than who paused the run.
        let elapsed = in_run(self.clock, now_ns)
            .saturating_sub(self.start_ns)
            .min(now_ns.saturating_sub(self.begun_ns));
        elapsed.checked_div(self.period_ns).unwrap_or(0)
    }
}

/// What a clock says that shows `now_ns`: elapsed time is the run's, which stands still in a pause.
fn in_run(clock: Clock, now_ns: u64) -> u64 {
    match clock {
        Clock::Monotonic => control::running_ns(now_ns),
        _ => now_ns,
    }
}

/// A number below `limit`, which must not be 0, different in each thread and process: splitmix64
/// (Steele, Lea and Flood, OOPSLA 2014) of the time and the place of the thread's stack.
pub(super) fn random_below(limit: u64) -> u64 {
    let place = (&raw const limit).addr() as u64;
    let seed = sys::now_ns(Clock::Monotonic) ^ place.rotate_left(28);
    let mut mixed = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    (mixed ^ (mixed >> 31)) % limit.max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(period_ns: u64, start_ns: u64) -> Due {
        let begun_ns = start_ns;
        Due { clock: Clock::Monotonic, period_ns, start_ns, begun_ns, accounted: 0 }
    }

    #[test]
    fn early_signals_are_worth_one_period_ahead_at_most() {
        // No period passes while the test runs.
        let mut due = of(u64::MAX, 0);
        assert_eq!([(); 4].map(|()| due.take_for_event()), [1, 0, 0, 0]);
        assert_eq!(due.count(), 0);
    }

    #[test]
    fn periods_that_passed_are_all_counted_once() {
        let start_ns = sys::now_ns(Clock::Monotonic) - 10_000_000_000;
        let mut due = of(3_000_000_000, start_ns);
        assert_eq!([(); 3].map(|()| due.take_for_event()), [3, 1, 0]);
    }
}
