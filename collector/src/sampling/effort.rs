//! What walks may take of a thread's time.
//!
//! Where a path is armed, a sample walks only what is new. Where nothing may be armed, each walks the whole
//! stack, and what costs 50 ns a frame took, 300 000 calls deep, longer than the period: the program hardly
//! went on. So samples earn a share of the time that they stand for, and walks spend it. What is spent is
//! reckoned by kinds of frames and not by a clock: the same program has the same paths.
//!
//! A walk that cannot be paid for is cut. Those that follow spend half of what they earn, until there is
//! enough for one twice as long: it comes to the end of the stack, and where that may be armed, the next ones
//! are short. The innermost frames of each sample are walked in any case, fewer while a thread is in debt.

/// The share of a thread's time: one part in so many.
const SHARE: i64 = 8;

/// What a frame takes that is found by a recipe that is remembered, in nanoseconds.
const FRAME_NS: i64 = 50;

/// The most that can be put by: a path of the greatest length that is recorded.
const MOST_NS: i64 = super::MAX_DEPTH as i64 * FRAME_NS;

/// The frames that each sample walks, whatever they take.
const LEAST_FRAMES: usize = super::CUT_DEPTH;

/// The same, while what earlier ones took is not paid for.
const LEAST_IN_DEBT: usize = 16;

/// What one thread may spend.
#[derive(Debug)]
pub struct Effort {
    /// Put by; negative, by no more than could be put by, after frames that took more than there was.
    left_ns: i64,
    /// What must have been put by for a walk to spend all of it.
    wanted_ns: i64,
    /// What the present walk has spent, and what it may.
    spent_ns: i64,
    allowed_ns: i64,
    /// The frames that it walks in any case.
    least: usize,
}

impl Effort {
    /// For the first sample of a thread.
    pub const FULL: Self = Self {
        left_ns: MOST_NS,
        wanted_ns: 0,
        spent_ns: 0,
        allowed_ns: MOST_NS,
        least: LEAST_FRAMES,
    };

    /// For a sample that stands for so much time. Signal side.
    pub(super) fn earn(&mut self, time_ns: u64) {
        let earned_ns = i64::try_from(time_ns).unwrap_or(i64::MAX) / SHARE;
        self.left_ns = self.left_ns.saturating_add(earned_ns).min(MOST_NS);
        let saves = self.left_ns < self.wanted_ns;
        self.allowed_ns = if saves { earned_ns / 2 } else { self.left_ns };
        self.spent_ns = 0;
        self.least = if self.left_ns < 0 { LEAST_IN_DEBT } else { LEAST_FRAMES };
    }

    /// Pays for a frame, the `walked`th, which took as long as so many that are found by remembered recipes; `false` if
    /// the walk is to end with it. Signal side.
    #[inline]
    pub(super) fn spend(&mut self, took: u32, walked: usize) -> bool {
        let price_ns = i64::from(took) * FRAME_NS;
        self.left_ns = (self.left_ns - price_ns).max(-MOST_NS);
        self.spent_ns += price_ns;
        self.spent_ns <= self.allowed_ns || walked < self.least
    }

    /// After the walk. Signal side.
    pub(super) fn end(&mut self, cut: bool) {
        if cut {
            self.wanted_ns = self.wanted_ns.max(2 * self.spent_ns).min(MOST_NS);
        } else if 2 * self.spent_ns >= self.wanted_ns && self.left_ns >= 0 {
            // Such a one as was wanted; not a short one in between.
            self.wanted_ns = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PERIOD_NS: u64 = 200_000;

    /// A sample of a stack so deep: how much of it is walked.
    fn sample(effort: &mut Effort, depth: u64) -> u64 {
        effort.earn(PERIOD_NS);
        let goes_on = |&walked: &u64| effort.spend(1, walked as usize);
        let walked = (1..depth).take_while(goes_on).count() as u64 + 1;
        effort.end(walked < depth);
        walked
    }

    #[test]
    fn the_first_walk_may_be_as_long_as_any() {
        let depth = super::super::MAX_DEPTH as u64;
        assert_eq!(sample(&mut { Effort::FULL }, depth), depth);
    }

    #[test]
    fn walks_take_an_eighth_of_the_time() {
        let mut effort = Effort { left_ns: 0, ..Effort::FULL };
        let samples = 10_000;
        let walked: u64 = (0..samples).map(|_| sample(&mut effort, 100_000)).sum();
        assert!(walked * FRAME_NS as u64 <= samples * PERIOD_NS / 8 + samples, "{walked}");
    }

    /// Also if they are longer than what one sample earns: it is put by.
    #[test]
    fn now_and_then_a_walk_comes_to_the_end() {
        let mut effort = Effort { left_ns: 0, ..Effort::FULL };
        let whole = (0..1000).filter(|_| sample(&mut effort, 2000) == 2000).count();
        assert!((20..=250).contains(&whole), "{whole}");
    }

    #[test]
    fn what_can_be_paid_for_is_walked() {
        let mut effort = Effort { left_ns: 0, ..Effort::FULL };
        let affordable = PERIOD_NS / 8 / FRAME_NS as u64;
        assert!((0..1000).all(|_| sample(&mut effort, affordable) == affordable));
    }

    /// A frame that takes much longer than there is time for is paid back.
    #[test]
    fn debts_are_paid() {
        let mut effort = Effort { left_ns: 0, ..Effort::FULL };
        effort.earn(PERIOD_NS);
        assert!(!effort.spend(1_000_000, 1000));
        effort.end(true);
        let earned = (50_000_000 / (PERIOD_NS / 8)) as usize;
        assert!((0..earned).all(|_| sample(&mut effort, 600) < 600));
    }

    /// Nor more than can be paid back within a second, however long they go on.
    #[test]
    fn debts_are_bounded() {
        let mut effort = Effort::FULL;
        for _ in 0..100_000 {
            effort.earn(PERIOD_NS);
            effort.spend(1000, 1);
            effort.end(false);
        }
        let samples = 1_000_000_000 / PERIOD_NS;
        assert!((0..samples).any(|_| sample(&mut effort, 2000) == 2000));
    }

    /// Where even the innermost frames take more than is earned, few of them are walked.
    #[test]
    fn samples_in_debt_are_short() {
        let mut effort = Effort { left_ns: 0, ..Effort::FULL };
        let mut frames = 0;
        for _ in 0..1000 {
            effort.earn(PERIOD_NS);
            frames += (1..1000).take_while(|&walked| effort.spend(10, walked)).count();
            effort.end(true);
        }
        assert!(frames <= 64 * 1000, "{frames}");
        assert!(frames >= LEAST_IN_DEBT * 900, "{frames}");
    }

    /// What deep walks need is put by, whatever is walked in between.
    #[test]
    fn short_walks_leave_what_is_put_by() {
        let mut effort = Effort { left_ns: 0, ..Effort::FULL };
        let whole = (0..1000).filter(|_| {
            sample(&mut effort, 10);
            sample(&mut effort, 5000) == 5000
        });
        assert!(whole.count() >= 20);
    }
}
