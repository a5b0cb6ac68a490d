//! Whether a thread goes on between its samples.
//!
//! What the kernel does to deliver a signal may take longer than a period: it looks through all
//! signals that wait for the thread (`collect_signal`, kernel/signal.c), of which there may be
//! 100 000. Then the next sample is due before the thread has come back from the handler, and the
//! program does not go on at all. It is seen by its registers, which are the same at several
//! samples, while more time passes than their periods have. A loop that waits for another thread
//! also has the same registers, but is sampled once in each period. And a loop of system calls that
//! take longer than a period is sampled as each of them returns: so it must be seen, too, that the
//! next signal waits already as the handler ends, again and again.

/// Samples in which nothing has changed before the thread is suspected not to go on.
const STUCK: u32 = 8;

/// Samples at whose end the next one waits before that is believed. By chance one does as often as
/// the handler takes a part of a period.
const PROOFS: u32 = 16;

/// How many times less often a thread is sampled then.
const FACTOR: u64 = 4;

/// Samples in which the thread went on before it is sampled more often again, at first.
const TRIED: u32 = 64;
/// And at last.
const MOST_TRIED: u32 = 1 << 14;

/// What is known of a thread.
#[derive(Debug)]
pub(super) struct Progress {
    /// What its registers were.
    registers: u64,
    /// Samples since then, and when the first came, in nanoseconds of its CPU time.
    same: u32,
    since_ns: u64,
    /// Whether it is to be looked whether the next sample waits, and how often one has.
    suspected: bool,
    proofs: u32,
    /// Periods from one sample to the next.
    spacing: u64,
    /// Samples until fewer periods are tried.
    left: u32,
    /// How many there are to be after the next time that the thread does not go on.
    tried: u32,
}

impl Progress {
    pub(super) const fn new() -> Self {
        Self {
            registers: 0,
            same: 0,
            since_ns: 0,
            suspected: false,
            proofs: 0,
            spacing: 1,
            left: 0,
            tried: TRIED,
        }
    }

    /// Notes the registers that a sample has found, of samples `period_ns` apart, at most `most`
    /// times that. Returns how many periods there are to be from one sample to the next, if that
    /// has changed. Signal side.
    pub(super) fn note(
        &mut self,
        registers: u64,
        (period_ns, most): (u64, u64),
        now_ns: impl FnOnce() -> u64,
    ) -> Option<u64> {
        if registers != self.registers {
            self.registers = registers;
            self.begin_again();
            return self.went_on();
        }
        if self.suspected {
            return None;
        }
        self.same += 1;
        if self.same == 1 {
            self.since_ns = now_ns();
            return None;
        }
        if self.same <= STUCK {
            return None;
        }
        self.same = 0;
        let passed_ns = now_ns().saturating_sub(self.since_ns);
        let own_ns = period_ns.saturating_mul(self.spacing * u64::from(STUCK));
        self.suspected = passed_ns > own_ns + own_ns / 8 && self.spacing < most;
        None
    }

    /// Whether it is to be [said](Self::conclude) if the next sample waits at the end of this one.
    pub(super) const fn is_suspected(&self) -> bool {
        self.suspected
    }

    /// Notes whether the next sample waits. Returns as [`Progress::note`]. Signal side.
    pub(super) fn conclude(&mut self, next_waits: bool, most: u64) -> Option<u64> {
        if !next_waits {
            self.begin_again();
            return None;
        }
        self.proofs += 1;
        if self.proofs < PROOFS {
            return None;
        }
        self.begin_again();
        self.spacing = (self.spacing * FACTOR).min(most);
        self.left = self.tried;
        self.tried = (self.tried * 2).min(MOST_TRIED);
        Some(self.spacing)
    }

    /// So many periods it has to stay at for a while.
    pub(super) const fn stay_at(&mut self, spacing: u64) {
        self.spacing = spacing;
        self.left = TRIED;
    }

    const fn begin_again(&mut self) {
        self.same = 0;
        self.suspected = false;
        self.proofs = 0;
    }

    /// Whether the thread was ever found not to go on.
    pub(super) const fn was_stuck(&self) -> bool {
        self.tried > TRIED
    }

    fn went_on(&mut self) -> Option<u64> {
        if self.spacing == 1 {
            return None;
        }
        self.left = self.left.saturating_sub(1);
        if self.left > 0 {
            return None;
        }
        self.spacing = (self.spacing / FACTOR).max(1);
        self.left = TRIED;
        Some(self.spacing)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PERIOD_NS: u64 = 200_000;

    /// The spacing after so many samples of a thread whose signals take so long to come.
    fn after(samples: u64, takes_ns: u64, goes_on: impl Fn(u64) -> bool) -> u64 {
        after_if(samples, takes_ns, goes_on, |_| true)
    }

    /// The same if the next signal waits at the end of some.
    fn after_if(
        samples: u64,
        takes_ns: u64,
        goes_on: impl Fn(u64) -> bool,
        waits: impl Fn(u64) -> bool,
    ) -> u64 {
        let mut progress = Progress::new();
        let (mut spacing, mut now_ns, mut place) = (1, 0, 1);
        for number in 0..samples {
            let period_ns = PERIOD_NS * spacing;
            // Where the next one is due before this one has come, nothing is executed.
            place += u64::from(goes_on(number) && takes_ns < period_ns);
            now_ns += takes_ns.max(period_ns);
            if let Some(changed) = progress.note(place, (PERIOD_NS, 100), || now_ns) {
                spacing = changed;
            }
            if progress.is_suspected()
                && let Some(changed) = progress.conclude(waits(number), 100)
            {
                spacing = changed;
            }
        }
        spacing
    }

    #[test]
    fn a_thread_that_does_not_go_on_is_sampled_less_often() {
        assert_eq!(after(25, 300_000, |_| true), 4);
        assert_eq!(after(60, 3_000_000, |_| true), 16);
        // No less than it may be.
        assert_eq!(after(1_000, 1 << 40, |_| true), 100);
    }

    #[test]
    fn a_thread_that_waits_in_a_loop_is_sampled_as_often_as_before() {
        assert_eq!(after(1_000, 10_000, |_| false), 1);
        assert_eq!(after(1_000, 10_000, |number| number % 100 == 0), 1);
    }

    #[test]
    fn a_loop_of_long_system_calls_is_sampled_as_often_as_before() {
        // At the end of hardly any sample, by chance, the next one waits.
        assert_eq!(after_if(100_000, 3_000_000, |_| true, |_| false), 1);
        assert_eq!(after_if(100_000, 3_000_000, |_| true, |number| number % 8 != 0), 1);
    }

    #[test]
    fn it_is_tried_again_and_less_and_less_often() {
        let mut progress = Progress::new();
        let stuck = |progress: &mut Progress| {
            let mut now_ns = 0;
            (0..=2 * STUCK + PROOFS).find_map(|_| {
                now_ns += 2 * PERIOD_NS;
                let noted = progress.note(7, (PERIOD_NS, 100), || now_ns);
                noted.or_else(|| {
                    progress.is_suspected().then(|| progress.conclude(true, 100)).flatten()
                })
            })
        };
        let mut place = 100;
        let mut went_on = |progress: &mut Progress| {
            (1..).find(|_| {
                place += 1;
                progress.note(place, (PERIOD_NS, 100), || 0) == Some(1)
            })
        };
        for tries in [64, 128, 256] {
            assert_eq!(stuck(&mut progress), Some(4));
            assert_eq!(went_on(&mut progress), Some(tries));
        }
    }
}
