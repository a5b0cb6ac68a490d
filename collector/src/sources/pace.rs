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

/// Periods from one interruption of a thread to the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace(u64);

/// The one that threads are interrupted at.
static PRESENT: AtomicU64 = AtomicU64::new(1);
/// The greatest since the process began.
static SLOWEST: AtomicU64 = AtomicU64::new(1);

/// What interruptions took since the account was last looked at, in nanoseconds.
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
    /// The present one. Either side.
    #[must_use]
    pub(super) fn present() -> Self {
        // Relaxed, as all here: who sees it late is interrupted as before.
        Self(PRESENT.load(Relaxed))
    }

    /// Periods from one interruption to the next. At least 1.
    #[must_use]
    pub(super) const fn periods(self) -> u64 {
        self.0
    }

    /// The one to go on with, when interruptions have taken so much of what they may. A slower one
    /// is left where there could be twice as many: a pace shall not swing.
    fn after(self, taken_ns: u64, allowed_ns: u64) -> Self {
        /// No timer is set to more periods: at the longest period that is 30 000 years.
        const MOST: u128 = 1 << 40;
        let wanted = u128::from(self.0) * u128::from(taken_ns);
        let wanted = wanted.div_ceil(u128::from(allowed_ns.max(1))).clamp(1, MOST) as u64;
        if wanted > self.0 || wanted * 2 <= self.0 { Self(wanted) } else { self }
    }
}

/// Notes that the handler took `handler_ns` of a thread's CPU time for a sample of elapsed time,
/// and sets the pace where it is time to. Signal side.
pub fn pay(handler_ns: u64) {
    TAKEN_NS.fetch_add(AROUND_NS + handler_ns, Relaxed);
    let (now_ns, looked_ns) = (sys::now_ns(Clock::Monotonic), LOOKED_NS.load(Relaxed));
    let elapsed_ns = now_ns.saturating_sub(looked_ns);
    if elapsed_ns < LOOK_NS
        || LOOKED_NS.compare_exchange(looked_ns, now_ns, Relaxed, Relaxed).is_err()
    {
        return;
    }
    let taken_ns = TAKEN_NS.swap(0, Relaxed);
    let all_cpu_ns = sys::now_ns(Clock::ProcessCpu);
    let cpu_ns = all_cpu_ns.saturating_sub(CPU_NS.swap(all_cpu_ns, Relaxed));
    if looked_ns > 0 {
        let pace = Pace::present().after(taken_ns, allowed_ns(elapsed_ns, cpu_ns));
        PRESENT.store(pace.0, Relaxed);
        SLOWEST.fetch_max(pace.0, Relaxed);
    }
}

/// Whether threads have been interrupted less often than they were to be. Either side.
#[must_use]
pub fn was_slower() -> bool {
    SLOWEST.load(Relaxed) > 1
}

/// In the child of a fork, which has its parent's account. Setup side.
pub fn begin_anew() {
    PRESENT.store(1, Relaxed);
    SLOWEST.store(1, Relaxed);
    LOOKED_NS.store(0, Relaxed);
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND_NS: u64 = 1_000_000_000;

    /// The pace after some looks, where each interruption takes so long, and what all take then of
    /// a second.
    fn settle(threads: u64, rate: u64, each_ns: u64, cpu_ns: u64) -> (u64, u64) {
        let taken_ns = |pace: Pace| threads * rate * each_ns / pace.periods();
        let allowed_ns = allowed_ns(SECOND_NS, cpu_ns);
        let pace = (0..5).fold(Pace(1), |pace, _| pace.after(taken_ns(pace), allowed_ns));
        (pace.periods(), taken_ns(pace))
    }

    #[test]
    fn interruptions_take_a_share() {
        for threads in [1, 7, 50, 5_000, 1 << 22] {
            for each_ns in [10_000, 400_000] {
                for cpu_ns in [0, SECOND_NS, 64 * SECOND_NS] {
                    let (_, taken_ns) = settle(threads, 1_000, each_ns, cpu_ns);
                    let allowed_ns = allowed_ns(SECOND_NS, cpu_ns);
                    assert!(taken_ns <= allowed_ns, "{threads} threads, {each_ns} ns: {taken_ns}");
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
        let after = |pace: u64, taken_ns| Pace(pace).after(taken_ns, 1_000).0;
        assert_eq!([after(1, 1_001), after(3, 1_000), after(3, 501), after(4, 501)], [2, 3, 3, 4]);
        assert_eq!([after(4, 500), after(64, 0), after(1 << 40, u64::MAX)], [2, 1, 1 << 40]);
    }
}
