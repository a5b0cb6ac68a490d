//! What walks may take of a thread's time.
//!
//! Where a path is armed, a sample walks only what is new. Where nothing may be armed, each walks
//! the whole stack, and what costs 50 ns a frame took, 300 000 calls deep, longer than the period:
//! the program hardly went on. So samples earn a share of the time that they stand for, and walks
//! spend it. What is spent is reckoned by kinds of frames, so that a program has mostly the same
//! paths each time. What frames cannot tell is the machine (a slow one, a traced one, code that
//! lies apart), so long walks are also timed, and all cost more where they took much longer than
//! was reckoned. Without that, walks of 128 undescribed frames took 290 us of a period of 200: the
//! handler returned into the next signal, and the program did not go on.
//!
//! A walk that cannot be paid for is cut. Those that follow spend half of what they earn, until
//! there is enough for one twice as long: it comes to the end of the stack, and where that may be
//! armed, the next ones are short. The innermost frames of each sample are walked in any case,
//! fewer while a thread is in debt.

use crate::trampoline::walked::MAX_DEPTH;
use core::sync::atomic::{AtomicI64, Ordering::Relaxed};

/// Frames that are recorded of a path that was not followed to its end because that would have been
/// too much: the innermost ones. Each sample of such a stack ends elsewhere, and has nodes of its
/// own.
pub(super) const CUT_DEPTH: usize = 128;

/// The share of a thread's time: one part in so many.
const SHARE: i64 = 8;

/// Of the time in which a thread waited, one part in so many counts: many threads wait at a time,
/// and on a busy machine each waits for a processor most of the time.
const WAITING: u64 = 16;

/// What a sample of elapsed time is worth of a thread's time, of which it ran for so long.
#[must_use]
pub fn worth_ns(elapsed_ns: u64, ran_ns: u64) -> u64 {
    let ran_ns = ran_ns.min(elapsed_ns);
    ran_ns + (elapsed_ns - ran_ns) / WAITING
}

/// What a frame takes that is found by a recipe that is remembered, in nanoseconds.
const FRAME_NS: i64 = 50;

/// The most that can be put by: a path of the greatest length that is recorded.
const MOST_NS: i64 = MAX_DEPTH as i64 * FRAME_NS;

/// The frames that each sample walks, whatever they take.
const LEAST_FRAMES: usize = CUT_DEPTH;

/// The same, while what earlier ones took is not paid for.
const LEAST_IN_DEBT: usize = 16;

/// The same, while more is owed than an eighth of what may be. That frame is not even left if its
/// recipe is not remembered: to follow its code may take longer than the period, and of a function
/// without call frame information each sample meets another instruction.
const LEAST_IN_DEEP_DEBT: usize = 1;

/// What a walk must have reckoned before it is timed, and then again for the time to say something:
/// of the clock, a system call, it is a small part.
const TIMED_NS: i64 = 10_000;

/// One walk in so many is timed whatever it has reckoned: a short one, too, may take longer than
/// the period. A thread of Chromium's, which waited in 13 frames, did nothing but take samples. An
/// odd number, or of two sources in turn the walks of one would never be timed.
const TIMED_EVERY: u32 = 17;

/// What such a one must take for the time to say something: more than page faults do.
const LONG_NS: u64 = 50_000;

/// The factor by which frames cost what was reckoned.
const ONE: i64 = 256;
/// Walks may take so many times what was reckoned before frames cost more: caches and a loaded
/// machine do that.
const TOLERATED: i64 = 2;
/// The greatest factor: with it, a frame of a remembered recipe costs what a sample earns at 5000
/// per second.
const MOST_FACTOR: i64 = 500 * ONE;

/// The factor that a thread has learned last, with which threads begin: to learn it anew takes each
/// of them some 0.2 s in which the program makes almost no progress.
static LEARNED: AtomicI64 = AtomicI64::new(ONE);

/// What one thread may spend.
#[derive(Debug)]
pub(super) struct Effort {
    /// Put by; negative, by no more than could be put by, after frames that took more than there
    /// was.
    left_ns: i64,
    /// What must have been put by for a walk to spend all of it.
    wanted_ns: i64,
    /// What the present walk has spent, and what it may.
    spent_ns: i64,
    allowed_ns: i64,
    /// The frames that it walks in any case.
    least: usize,
    /// What frames cost of what is reckoned for them, in parts of [`ONE`].
    factor: i64,
    /// When the present walk began to be timed, by the thread's CPU time, and what it had spent by
    /// then.
    timed_from: Option<(u64, i64)>,
    /// Walks so far, with wrap-around.
    walks: u32,
    /// The thread's CPU time up to which all was earned, where it is earned by the clock.
    earned_to_ns: u64,
}

impl Effort {
    /// For the first sample of a thread where frames cost what is reckoned.
    const FULL: Self = Self {
        left_ns: MOST_NS,
        wanted_ns: 0,
        spent_ns: 0,
        allowed_ns: MOST_NS,
        least: LEAST_FRAMES,
        factor: ONE,
        timed_from: None,
        walks: 0,
        earned_to_ns: 0,
    };

    /// For the first sample of a thread.
    pub(super) fn of_new_thread() -> Self {
        Self { factor: LEARNED.load(Relaxed), ..Self::FULL }
    }

    /// For a sample that stands for so much time. Signal side.
    pub(super) fn earn(&mut self, time_ns: u64) {
        let earned_ns = i64::try_from(time_ns).unwrap_or(i64::MAX) / SHARE;
        self.left_ns = self.left_ns.saturating_add(earned_ns).min(MOST_NS);
        let saves = self.left_ns < self.wanted_ns;
        self.allowed_ns = if saves { earned_ns / 2 } else { self.left_ns };
        self.spent_ns = 0;
        self.least = match self.left_ns {
            0.. => LEAST_FRAMES,
            left_ns if left_ns > -MOST_NS / 8 => LEAST_IN_DEBT,
            _ => LEAST_IN_DEEP_DEBT,
        };
        self.timed_from = None;
    }

    /// Right before the walk. `now_ns` is the thread's CPU time, asked seldom. Signal side.
    pub(super) fn begin(&mut self, now_ns: impl Fn() -> u64) {
        self.walks = self.walks.wrapping_add(1);
        if self.walks.is_multiple_of(TIMED_EVERY) && !self.is_in_deep_debt() {
            self.timed_from = Some((now_ns(), self.spent_ns));
        }
    }

    /// For a sample of a call, which stands for no time: earned is what has passed by `now_ns`, the
    /// thread's CPU time. The clock, a system call, is asked only if half of what can be put by is
    /// spent, or a walk waits for more. And such a sample always walks the innermost frames,
    /// whatever is owed: its path is what was asked for, and it is the period that bounds how
    /// often. Signal side.
    pub(super) fn earn_by_clock(&mut self, now_ns: impl Fn() -> u64) {
        let passed_ns = if self.left_ns < self.wanted_ns.max(MOST_NS / 2) {
            let now_ns = now_ns();
            now_ns.saturating_sub(core::mem::replace(&mut self.earned_to_ns, now_ns))
        } else {
            0
        };
        self.earn(passed_ns);
        self.least = LEAST_FRAMES;
    }

    /// Whether more was spent than there was. Signal side.
    #[must_use]
    pub(super) const fn is_in_debt(&self) -> bool {
        self.left_ns < 0
    }

    /// Whether the walk is to be of the innermost frame alone. Signal side.
    #[must_use]
    pub(super) const fn is_in_deep_debt(&self) -> bool {
        self.least == LEAST_IN_DEEP_DEBT
    }

    /// Pays for a frame, the `walked`th, which took as long as so many that are found by remembered
    /// recipes; `false` if the walk is to end with it. `now_ns` is the thread's CPU time, asked in
    /// long walks only. Signal side.
    #[inline]
    pub(super) fn spend(&mut self, took: u32, walked: usize, now_ns: impl Fn() -> u64) -> bool {
        // The first frame, where there is but that, is paid for as it is: by the factor, a thread
        // that waits would earn less than it spends.
        let factor = if self.is_in_deep_debt() { ONE } else { self.factor };
        let price_ns = i64::from(took) * FRAME_NS * factor / ONE;
        self.left_ns = (self.left_ns - price_ns).max(-MOST_NS);
        self.spent_ns += price_ns;
        if self.spent_ns >= TIMED_NS && self.timed_from.is_none() {
            self.timed_from = Some((now_ns(), self.spent_ns));
        }
        // In deep debt not even half of what is earned: the next frame may take longer than the
        // period.
        let is_paid = self.spent_ns <= self.allowed_ns && !self.is_in_deep_debt();
        is_paid || walked < self.least
    }

    /// After the walk. Signal side.
    pub(super) fn end(&mut self, cut: bool, now_ns: impl Fn() -> u64) {
        if cut {
            self.wanted_ns = self.wanted_ns.max(2 * self.spent_ns).min(MOST_NS);
        } else if 2 * self.spent_ns >= self.wanted_ns && self.left_ns >= 0 {
            // Such a one as was wanted; not a short one in between.
            self.wanted_ns = 0;
        }
        // The innermost frame alone tells nothing.
        if !self.is_in_deep_debt() {
            self.learn(now_ns);
        }
    }

    /// Where the walk was timed, the factor moves an eighth of the way to what would have been
    /// right.
    fn learn(&mut self, now_ns: impl Fn() -> u64) {
        let timed = self.timed_from.map(|(from_ns, spent_before_ns)| {
            let reckoned_ns = self.spent_ns - spent_before_ns;
            let is_long = reckoned_ns >= TIMED_NS;
            let is_asked = is_long || self.walks.is_multiple_of(TIMED_EVERY);
            let took_ns = if is_asked { now_ns().saturating_sub(from_ns) } else { 0 };
            (took_ns, reckoned_ns.max(FRAME_NS), is_long || took_ns >= LONG_NS, is_asked)
        });
        let (took_ns, reckoned_ns) = match timed {
            Some((took_ns, reckoned_ns, true, _)) => (took_ns, reckoned_ns),
            // A walk that was timed from its start, and took not long.
            Some((_, _, false, true)) => {
                // Who has learned nothing has nothing to take back.
                if self.factor > ONE {
                    // Rounded up, so that it comes back to one.
                    self.factor -= (self.factor - ONE + 7) / 8;
                    LEARNED.store(self.factor, Relaxed);
                }
                return;
            }
            // Walks that are too short to be measured shall not be so for ever.
            _ => {
                if self.left_ns < 0 {
                    self.factor -= (self.factor - ONE) / 64;
                }
                return;
            }
        };
        let took_ns = i64::try_from(took_ns).unwrap_or(i64::MAX);
        let right = self.factor.saturating_mul(took_ns / TOLERATED) / reckoned_ns;
        // One walk doubles it at most, whatever came in between.
        let step = (right.min(9 * self.factor) - self.factor) / 8;
        self.factor = (self.factor + step).clamp(ONE, MOST_FACTOR);
        LEARNED.store(self.factor, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use core::cell::Cell;

    use super::*;

    const PERIOD_NS: u64 = 200_000;

    /// Where what is reckoned is right.
    fn no_clock() -> u64 {
        0
    }

    /// A sample of a stack so deep: how much of it is walked.
    fn sample(effort: &mut Effort, depth: u64) -> u64 {
        effort.earn(PERIOD_NS);
        let goes_on = |&walked: &u64| effort.spend(1, walked as usize, no_clock);
        let walked = (1..depth).take_while(goes_on).count() as u64 + 1;
        effort.end(walked < depth, no_clock);
        walked
    }

    #[test]
    fn waiting_is_worth_less_than_running() {
        let worth_ns = |ran_ns| worth_ns(1600, ran_ns);
        assert_eq!([0, 800, 1600, 9999].map(worth_ns), [100, 850, 1600, 1600]);
    }

    #[test]
    fn the_first_walk_may_be_as_long_as_any() {
        let depth = MAX_DEPTH as u64;
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

    #[test]
    fn who_has_spent_too_much_is_in_debt_until_time_has_passed() {
        let mut effort = Effort { left_ns: 0, ..Effort::FULL };
        effort.earn_by_clock(|| 1000);
        effort.spend(100, 1, no_clock);
        assert!(effort.is_in_debt());
        effort.earn_by_clock(|| 2000);
        assert!(effort.is_in_debt());
        effort.earn_by_clock(|| 1_000_000);
        assert!(!effort.is_in_debt());
    }

    /// A frame that takes longer than the period: the thread goes on most of the time.
    #[test]
    fn most_samples_of_slow_frames_walk_no_further_than_the_first() {
        let mut effort = Effort { left_ns: 0, ..Effort::FULL };
        let mut walks = 0_u64;
        let (samples, slow_ns) = (100_000, 3 * PERIOD_NS);
        for _ in 0..samples {
            effort.earn(PERIOD_NS);
            if !effort.is_in_deep_debt() {
                walks += 1;
                let _ = effort.spend((slow_ns / FRAME_NS as u64) as u32, 1, no_clock);
            }
            effort.end(true, no_clock);
        }
        let earned_ns = samples * PERIOD_NS / SHARE as u64;
        assert!(walks * slow_ns <= earned_ns + MOST_NS as u64, "{walks}");
        assert!(walks * slow_ns >= earned_ns / 2, "{walks}");
    }

    /// However cheap the first frame is: nothing says so of the next one.
    #[test]
    fn who_owes_much_walks_one_frame() {
        let mut effort = Effort { left_ns: -MOST_NS / 2, factor: MOST_FACTOR, ..Effort::FULL };
        for _ in 0..100 {
            // A thread that waits earns least.
            effort.earn(worth_ns(PERIOD_NS, 0));
            assert!(effort.is_in_deep_debt() && !effort.spend(1, 1, no_clock));
            effort.end(true, no_clock);
        }
        assert!(effort.left_ns > -MOST_NS / 2, "{}", effort.left_ns);
    }

    /// An outlier among short walks is forgotten.
    #[test]
    fn outliers_pass() {
        let (mut effort, clock) = (Effort { left_ns: 0, ..Effort::FULL }, Cell::new(0));
        for sample in 0..20 * TIMED_EVERY {
            effort.earn(PERIOD_NS);
            effort.begin(|| clock.get());
            clock.set(clock.get() + if sample < TIMED_EVERY { 2 * LONG_NS } else { 1_000 });
            let _ = effort.spend(20, 1, || clock.get());
            effort.end(false, || clock.get());
            assert!(effort.factor <= 2 * ONE, "{}", effort.factor);
        }
        assert!(effort.factor < ONE + ONE / 4, "{}", effort.factor);
    }

    /// A frame that takes much longer than there is time for is paid back.
    #[test]
    fn debts_are_paid() {
        let mut effort = Effort { left_ns: 0, ..Effort::FULL };
        effort.earn(PERIOD_NS);
        assert!(!effort.spend(1_000_000, 1000, no_clock));
        effort.end(true, no_clock);
        let earned = (50_000_000 / (PERIOD_NS / 8)) as usize;
        assert!((0..earned).all(|_| sample(&mut effort, 600) < 600));
    }

    /// Nor more than can be paid back within a second, however long they go on.
    #[test]
    fn debts_are_bounded() {
        let mut effort = Effort::FULL;
        for _ in 0..100_000 {
            effort.earn(PERIOD_NS);
            effort.spend(1000, 1, no_clock);
            effort.end(false, no_clock);
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
            frames += (1..1000).take_while(|&walked| effort.spend(10, walked, no_clock)).count();
            effort.end(true, no_clock);
        }
        assert!(frames <= 64 * 1000, "{frames}");
        assert!(frames >= LEAST_IN_DEBT * 900, "{frames}");
    }

    /// However many calls are sampled in a time that pays for few walks.
    #[test]
    fn samples_of_calls_walk_the_innermost_frames() {
        let (mut effort, clock) = (Effort::FULL, Cell::new(0));
        for _ in 0..100_000 {
            clock.set(clock.get() + 1_000);
            effort.earn_by_clock(|| clock.get());
            let walked = (1..).take_while(|&walked| effort.spend(1, walked, no_clock)).count();
            effort.end(true, no_clock);
            assert!(walked + 1 >= LEAST_FRAMES, "{walked}");
        }
    }

    /// Between calls that are far apart, a thread earns what its time is worth.
    #[test]
    fn calls_earn_by_the_clock() {
        let (mut effort, clock) = (Effort { left_ns: 0, ..Effort::FULL }, Cell::new(0));
        let affordable = PERIOD_NS / 8 / FRAME_NS as u64;
        for _ in 0..1000 {
            clock.set(clock.get() + PERIOD_NS);
            effort.earn_by_clock(|| clock.get());
            assert!((1..affordable).all(|walked| effort.spend(1, walked as usize, no_clock)));
            effort.end(false, no_clock);
        }
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

    /// A machine on which frames take so much longer than reckoned leaves a program most of its
    /// time, once the first samples have told.
    #[test]
    fn slow_machines_walk_less() {
        for slower in [1, 4, 30] {
            let (mut effort, clock) = (Effort::FULL, Cell::new(0));
            let frame_ns = 11 * FRAME_NS as u64 * slower;
            let mut walk = |samples: u64| {
                let from = clock.get();
                for _ in 0..samples {
                    effort.earn(PERIOD_NS);
                    effort.begin(|| clock.get());
                    for walked in 1..=128 {
                        clock.set(clock.get() + frame_ns);
                        if !effort.spend(11, walked, || clock.get()) {
                            break;
                        }
                    }
                    effort.end(false, || clock.get());
                }
                clock.get() - from
            };
            walk(5000);
            let took_ns = walk(5000);
            assert!(took_ns <= 5000 * PERIOD_NS / 2, "{slower}: {took_ns}");
        }
    }

    /// Also where so few frames are walked that they are reckoned to take almost nothing.
    #[test]
    fn short_walks_may_be_slow() {
        let (mut effort, clock) = (Effort::FULL, Cell::new(0));
        let mut walk = |samples: u64| {
            let from = clock.get();
            for _ in 0..samples {
                effort.earn(PERIOD_NS);
                effort.begin(|| clock.get());
                if !effort.is_in_deep_debt() {
                    for walked in 1..=13 {
                        clock.set(clock.get() + 2 * PERIOD_NS / 13);
                        let _ = effort.spend(11, walked, || clock.get());
                    }
                }
                effort.end(false, || clock.get());
            }
            clock.get() - from
        };
        walk(5000);
        let took_ns = walk(5000);
        assert!(took_ns <= 5000 * PERIOD_NS / 2, "{took_ns}");
    }

    /// A thread that starts later knows what an earlier one has learned.
    #[test]
    fn later_threads_know_slow_machines() {
        let (mut first, clock) = (Effort::FULL, Cell::new(0));
        // Other tests learn at the same time, in other threads.
        let knows = (0..5000).any(|_| {
            first.earn(PERIOD_NS);
            first.begin(|| clock.get());
            for walked in 1..=128 {
                clock.set(clock.get() + 330 * FRAME_NS as u64);
                if !first.spend(11, walked, || clock.get()) {
                    break;
                }
            }
            first.end(false, || clock.get());
            first.factor > 2 * ONE && Effort::of_new_thread().factor == first.factor
        });
        assert!(knows);
    }

    /// What was slow for a while is walked again later.
    #[test]
    fn slow_times_pass() {
        let (mut effort, clock) = (Effort::FULL, Cell::new(0));
        let mut walk = |slower: u64, samples: usize| {
            let mut frames = 0;
            for _ in 0..samples {
                effort.earn(PERIOD_NS);
                effort.begin(|| clock.get());
                for walked in 1..=40 {
                    clock.set(clock.get() + 11 * FRAME_NS as u64 * slower);
                    frames += 1;
                    if !effort.spend(11, walked, || clock.get()) {
                        break;
                    }
                }
                effort.end(false, || clock.get());
            }
            frames
        };
        walk(120, 300);
        walk(1, 20_000);
        let frames = walk(1, 1000);
        assert!(frames >= 30_000, "{frames}");
    }
}
