//! What walks may take of a thread's time.
//!
//! Where a path is armed, a sample walks only what is new. Where nothing may be armed, each walks the whole
//! stack, and what costs 50 ns a frame took, 300 000 calls deep, longer than the period: the program hardly
//! went on. So samples earn a share of the time that they stand for, and walks spend it. What is spent is
//! reckoned by kinds of frames and not by a clock: the same program has the same paths.

/// The share of a thread's time: one part in so many.
const SHARE: u64 = 8;

/// What a frame takes that is found by its recipe, in nanoseconds.
const FRAME_NS: u64 = 50;

/// What a frame takes that is found in another way: by its code, or with all registers restored.
const SLOW_FRAME_NS: u64 = 500;

/// The most that can be put by: a path of the greatest length that is recorded.
const MOST_NS: u64 = super::MAX_DEPTH as u64 * FRAME_NS;

/// What one thread may spend.
#[derive(Debug)]
pub struct Effort {
    left_ns: u64,
}

impl Effort {
    /// For the first sample of a thread.
    pub const FULL: Self = Self { left_ns: MOST_NS };

    /// For a sample that stands for so much time. Signal side.
    pub(super) fn earn(&mut self, time_ns: u64) {
        self.left_ns = self.left_ns.saturating_add(time_ns / SHARE).min(MOST_NS);
    }

    /// Pays for a frame; `false` if nothing is left. Signal side.
    #[inline]
    pub(super) const fn spend(&mut self, slow: bool) -> bool {
        let price_ns = if slow { SLOW_FRAME_NS } else { FRAME_NS };
        let paid = self.left_ns >= price_ns;
        self.left_ns = self.left_ns.saturating_sub(price_ns);
        paid
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Frames that can be paid for.
    fn frames(effort: &mut Effort, slow: bool) -> u64 {
        core::iter::from_fn(|| effort.spend(slow).then_some(())).count() as u64
    }

    #[test]
    fn the_first_walk_may_be_as_long_as_any() {
        let mut effort = Effort::FULL;
        assert_eq!(frames(&mut effort, false), super::super::MAX_DEPTH as u64);
        assert_eq!(frames(&mut effort, false), 0);
    }

    #[test]
    fn walks_take_an_eighth_of_the_time() {
        let mut effort = Effort { left_ns: 0 };
        effort.earn(5_000_000);
        assert_eq!(frames(&mut effort, false), 5_000_000 / 8 / FRAME_NS);
        effort.earn(5_000_000);
        assert_eq!(frames(&mut effort, true), 5_000_000 / 8 / SLOW_FRAME_NS);
    }

    #[test]
    fn no_more_is_put_by_than_a_walk_needs() {
        let mut effort = Effort { left_ns: MOST_NS - 1 };
        effort.earn(u64::MAX);
        assert_eq!(effort.left_ns, MOST_NS);
    }
}
