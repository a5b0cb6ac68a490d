//! How often a process is interrupted by elapsed time.
//!
//! A timer of elapsed time interrupts each thread, also those that wait. What that takes grows with
//! the threads (5000 at 200 samples per second are a million interruptions), with the depth of
//! their stacks and the code on them, and with the processes that do the same. So a process keeps
//! account of it, and where it is more than its [share](allowed_ns), each thread is interrupted
//! once in several periods, and the sample stands for all of them. Every process sees to its own:
//! it knows neither who else there is, nor when one is killed.

use core::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::sys::{self, Clock};

/// How often threads are interrupted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    /// From one interruption of a thread to the next. At least 1.
    periods: u32,
    /// How often all timers were set at it by [another thread](restarted), with wrap-around: their
    /// own do not know what they are set to then.
    restarts: u32,
}

/// The present one, as [`Pace::bits`].
static PRESENT: AtomicU64 = AtomicU64::new(Pace::FIRST.bits());

/// What interruptions would have taken since the account was last looked at, one in each period, in
/// nanoseconds.
static TAKEN_NS: AtomicU64 = AtomicU64::new(0);
/// When that was, by the monotonic clock; 0: never.
static LOOKED_NS: AtomicU64 = AtomicU64::new(0);
/// The CPU time of the process by then.
static CPU_NS: AtomicU64 = AtomicU64::new(0);

/// From one look at the account to the next at least: the program's time, with what its threads
/// happen to do, has to say something, and a process that is asked too much shall not be for long.
const LOOK_NS: u64 = 50_000_000;

/// What an interruption of a thread that waits takes besides the handler: the timer's interrupt,
/// two changes of threads, the signal's frame and the return from it.
const AROUND_NS: u64 = 8_000;

/// What interruptions may take while so much time passes in which the process has so much of the
/// processors: an eighth of that, as walks may of a thread's, and of one processor a twentieth,
/// which is what a process may take that only waits.
const fn allowed_ns(elapsed_ns: u64, cpu_ns: u64) -> u64 {
    elapsed_ns / 20 + cpu_ns / 8
}

impl Pace {
    const FIRST: Self = Self { periods: 1, restarts: 0 };

    const fn bits(self) -> u64 {
        (self.periods as u64) << 32 | self.restarts as u64
    }

    const fn from_bits(bits: u64) -> Self {
        Self { periods: (bits >> 32) as u32, restarts: bits as u32 }
    }

    /// The present one. Either side.
    #[must_use]
    pub(super) fn present() -> Self {
        // Relaxed, as all here: who sees it late is interrupted as before.
        Self::from_bits(PRESENT.load(Relaxed))
    }

    /// Periods from one interruption to the next. At least 1.
    #[must_use]
    pub(super) const fn periods(self) -> u64 {
        self.periods as u64
    }

    /// The one to go on with, when an interruption in each period would have taken so much, of what
    /// they may. A slower one is left where there could be twice as many: a pace shall not swing.
    fn after(self, taken_ns: u64, allowed_ns: u64) -> Self {
        let wanted = taken_ns.div_ceil(allowed_ns.max(1)).clamp(1, u32::MAX.into()) as u32;
        let is_left = wanted > self.periods || wanted <= self.periods / 2;
        if is_left { Self { periods: wanted, ..self } } else { self }
    }
}

fn change(to: impl Fn(Pace) -> Pace) {
    let _ =
        PRESENT.fetch_update(Relaxed, Relaxed, |before| Some(to(Pace::from_bits(before)).bits()));
}

/// All timers were set to the present pace. Setup side.
pub fn restarted() {
    change(|pace| Pace { restarts: pace.restarts.wrapping_add(1), ..pace });
}

/// Notes that a timer of elapsed time, which comes once in `interval` periods, has interrupted a
/// thread, and that the handler took so much of its CPU time. Sets the pace where it is time to,
/// and returns whether it was. Signal side.
// What was taken is counted as if there had been an interruption in each period: each thread
// changes its own timer, when it is interrupted next, so that they have many paces at a time.
pub fn pay(interval: u64, handler_ns: u64) -> bool {
    let each_ns = handler_ns.saturating_add(AROUND_NS).saturating_mul(interval);
    TAKEN_NS.fetch_add(each_ns, Relaxed);
    let (now_ns, looked_ns) = (sys::now_ns(Clock::Monotonic), LOOKED_NS.load(Relaxed));
    let elapsed_ns = now_ns.saturating_sub(looked_ns);
    if elapsed_ns < LOOK_NS
        || LOOKED_NS.compare_exchange(looked_ns, now_ns, Relaxed, Relaxed).is_err()
    {
        return false;
    }
    let taken_ns = TAKEN_NS.swap(0, Relaxed);
    let all_cpu_ns = sys::now_ns(Clock::ProcessCpu);
    let cpu_ns = all_cpu_ns.saturating_sub(CPU_NS.swap(all_cpu_ns, Relaxed));
    // The first look begins the account.
    if looked_ns > 0 {
        change(|pace| pace.after(taken_ns, allowed_ns(elapsed_ns, cpu_ns)));
    }
    true
}

/// In the child of a fork, which has its parent's account. Setup side.
pub fn begin_anew() {
    PRESENT.store(Pace::FIRST.bits(), Relaxed);
    LOOKED_NS.store(0, Relaxed);
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND_NS: u64 = 1_000_000_000;

    /// The pace after some looks, where each interruption takes so long, and what all take then of
    /// a second. Threads keep the pace that they had at each first look.
    fn settle(threads: u64, rate: u64, each_ns: u64, cpu_ns: u64) -> (u64, u64) {
        let taken_ns = |pace: Pace| threads * rate * each_ns / pace.periods();
        let allowed_ns = allowed_ns(SECOND_NS, cpu_ns);
        let mut paces = vec![Pace::FIRST];
        for _ in 0..20 {
            let (pace, set) = (paces[paces.len() - 1], paces[paces.len() / 2]);
            paces.push(pace.after(taken_ns(set) * set.periods(), allowed_ns));
        }
        let pace = paces[paces.len() - 1];
        (pace.periods(), taken_ns(pace))
    }

    #[test]
    fn interruptions_take_a_share() {
        for threads in [1, 7, 50, 5_000, 1 << 17] {
            for each_ns in [10_000, 400_000] {
                for cpu_ns in [0, SECOND_NS, 64 * SECOND_NS] {
                    let (pace, taken_ns) = settle(threads, 1_000, each_ns, cpu_ns);
                    let allowed_ns = allowed_ns(SECOND_NS, cpu_ns);
                    let what = format!("{threads} threads, {each_ns} ns: {pace}, {taken_ns}");
                    assert!(taken_ns <= allowed_ns, "{what}");
                    assert!(pace == 1 || taken_ns > allowed_ns / 3, "{what}");
                }
            }
        }
    }

    #[test]
    fn few_threads_are_interrupted_in_each_period() {
        assert_eq!([settle(1, 1_000, 10_000, 0).0, settle(20, 200, 10_000, 0).0], [1, 1]);
        assert_eq!(settle(4, 5_000, 10_000, 4 * SECOND_NS).0, 1);
    }

    #[test]
    fn a_pace_does_not_swing() {
        let after = |periods, taken_ns| Pace { periods, restarts: 7 }.after(taken_ns, 1_000);
        let periods = |before, taken_ns| after(before, taken_ns).periods;
        assert_eq!([periods(1, 1_001), periods(3, 3_000), periods(3, 1_001)], [2, 3, 3]);
        assert_eq!([periods(4, 2_001), periods(4, 2_000), periods(64, 0)], [4, 2, 1]);
        assert_eq!((periods(1, u64::MAX), after(1, 1_001).restarts), (u32::MAX, 7));
    }

    #[test]
    fn a_pace_is_its_bits() {
        for pace in [Pace::FIRST, Pace { periods: u32::MAX, restarts: 5 }] {
            assert_eq!(Pace::from_bits(pace.bits()), pace);
        }
    }
}
