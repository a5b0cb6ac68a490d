//! What a thread counts for a synchronous source: calls, or amounts that calls are given.

use core::sync::atomic::{AtomicU64, Ordering};

/// One count of one thread, which a handler of the program may interrupt and use, too.
// Relaxed throughout: one thread, and its handlers.
#[derive(Debug)]
pub struct Counter {
    /// In the unit of the source; 0 as long as nothing is counted.
    period: AtomicU64,
    counted: AtomicU64,
}

impl Counter {
    /// One that does not count.
    #[must_use]
    pub const fn off() -> Self {
        Self { period: AtomicU64::new(0), counted: AtomicU64::new(0) }
    }

    /// Counts from now on. So much of a period has passed.
    pub fn begin(&self, period: u64, passed: u64) {
        self.counted.store(passed, Ordering::Relaxed);
        self.period.store(period, Ordering::Relaxed);
    }

    /// Counts `amount`. Returns how many periods end with it, each of which is told once, whatever
    /// interrupts this.
    #[inline]
    #[must_use]
    pub fn add(&self, amount: u64) -> u64 {
        let period = self.period.load(Ordering::Relaxed);
        if period == 0 {
            return 0;
        }
        let before = self.counted.fetch_add(amount, Ordering::Relaxed);
        let after = before.wrapping_add(amount);
        if after < before {
            return self.begin_again(before, amount, period);
        }
        after / period - before / period
    }

    /// Where the count has come to its end: it goes on with what is left of a period.
    #[cold]
    fn begin_again(&self, before: u64, amount: u64, period: u64) -> u64 {
        let sum = u128::from(before % period) + u128::from(amount);
        let period = u128::from(period);
        // A remainder of a `u64`; the quotient is no larger than `amount` and 1.
        self.counted.store((sum % period) as u64, Ordering::Relaxed);
        u64::try_from(sum / period).unwrap_or(u64::MAX)
    }

    /// How much is to be counted until the next period ends; `None` if nothing is counted.
    #[must_use]
    pub fn until_next(&self) -> Option<u64> {
        let counted = self.counted.load(Ordering::Relaxed);
        let passed = counted.checked_rem(self.period.load(Ordering::Relaxed))?;
        self.period.load(Ordering::Relaxed).checked_sub(passed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn periods_are_told_once() {
        let counter = Counter::off();
        assert_eq!(counter.add(7), 0);
        counter.begin(3, 0);
        assert_eq!([1, 1, 1, 1, 2, 7, 1].map(|amount| counter.add(amount)), [0, 0, 1, 0, 1, 2, 0]);
        counter.begin(3, 2);
        assert_eq!([1, 1, 1, 1].map(|amount| counter.add(amount)), [1, 0, 0, 1]);
        assert_eq!((counter.until_next(), Counter::off().until_next()), (Some(3), None));
        assert_eq!((counter.add(2), counter.until_next()), (0, Some(1)));
        counter.begin(3, 0);
        let most = u64::MAX;
        assert_eq!([most, 1, 1, 1].map(|amount| counter.add(amount)), [most / 3, 0, 0, 1]);
        assert_eq!([1, most, 1].map(|amount| counter.add(amount)), [0, most / 3, 0]);
        counter.begin(1, 0);
        assert_eq!([1, 5, 1].map(|amount| counter.add(amount)), [1, 5, 1]);
    }
}
