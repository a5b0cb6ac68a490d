//! Whether somebody stops a thread at its samples, and how often it may be sampled then.
//!
//! A traced process stops at each signal until its tracer lets it go on (ptrace(2)). For a tracer
//! of system calls it also stops at those of the handler, and for one that steps at each of the
//! handler's instructions: then the next sample is due when the handler ends, and the program does
//! not go on. Who is traced from its start is known; tracers that come later, and debuggers that
//! begin to step, are found out. A handler hardly ever waits. So where it takes long, again and
//! again, it is looked whether the thread has left the processor of its own accord meanwhile
//! (`ru_nvcsw`, getrusage(2)), as it does at a stop. A thread whose processor was taken away has
//! not, however busy the machine is.
//!
//! Time is read by system calls: the kernel's code in the process may be unmapped, or forbidden the
//! instruction that it reads the clock by.
//!
//! From then on there is an account for the thread, like that of [interruptions](super::pace) for a
//! process, but of elapsed time, in which its tracer works: what samples take is to be an eighth.
//! A sample at which the thread has not stopped takes nothing. So when the tracer has gone, the
//! thread is soon sampled as before.

use core::sync::atomic::{AtomicBool, Ordering};

use crate::sys::{self, Clock, SignalStatus, Spent};

/// A handler that takes longer makes one look, in nanoseconds: two stops do.
const LONG_NS: u64 = 50_000;

/// While nothing is suspected, samples from one whose handler is timed to the next: that takes two
/// system calls, as long as the rest of a sample.
const TIMED: u32 = 8;

/// So many of them in a row, at first; each time that it was in vain, twice as many.
const ROW: u32 = 4;
/// And at most.
const MOST_ROW: u32 = 64;

/// Handlers in a row with a stop, before it is believed: one may have waited for a page.
const PROOFS: u32 = 4;

/// Samples in a row without a stop, until the thread is believed not to be traced any more.
const CALM: u32 = 64;

/// And until its interval is that which was asked for, to begin with: `CALM` long ones would take
/// minutes. If it is stopped again, the account lengthens the interval again.
const CALM_AT_FIRST: u32 = 2;

/// Elapsed time from one look at the account to the next, in nanoseconds, and samples.
const LOOK_NS: u64 = 50_000_000;
const LOOK_SAMPLES: u64 = 4;

/// What the stop before the handler takes at most, in nanoseconds: in the time that the thread did
/// not run since its last sample there are also its waits, and the stops that it would have alone.
const BEFORE_NS: u64 = 1_000_000;

/// The share of elapsed time that samples may take is the inverse of this.
const SHARE: u64 = 8;

/// The longest interval, in nanoseconds of CPU time: as of [interruptions](super::posix_timer).
const LONGEST_NS: u64 = 2_000_000_000;

/// Whether threads are traced from their start.
static IS_TRACED: AtomicBool = AtomicBool::new(false);

/// The process is traced as it starts. Setup side.
pub fn expect() {
    // Relaxed: before there are other threads.
    IS_TRACED.store(true, Ordering::Relaxed);
}

/// What is known of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Known {
    /// It is not stopped: so many handlers in a row took long.
    Nothing { long: u32 },
    /// It may be: so many long handlers in a row with a stop.
    Perhaps { proofs: u32 },
    /// It is: so many samples in a row without a stop. And it has stopped within so many handlers
    /// in a row, at most [`PROOFS`]: from then on its stops are those, and between its samples it
    /// waits of its own accord.
    Stopped { calm: u32, within: u32 },
}

/// The account of a thread.
#[derive(Debug)]
pub(super) struct Stops {
    known: Known,
    /// Handlers that are to take long in a row.
    row: u32,
    /// Samples until a handler is timed, while nothing is suspected.
    untimed: u32,
    /// When the present handler began, in nanoseconds of elapsed time, and what the thread had
    /// spent by then, if that was asked for. Zero if it is not timed.
    begun: (u64, Option<Spent>),
    /// The same at the end of the last one.
    ended: (u64, Option<Spent>),
    /// What samples have taken since the account was looked at, how many there were, and when that
    /// was.
    taken_ns: u64,
    samples: u64,
    looked_ns: u64,
    /// CPU time from one sample to the next at least; 0: as was asked for.
    interval_ns: u64,
}

impl Stops {
    /// Of the calling thread, which starts. Setup side.
    pub(super) fn new() -> Self {
        // Relaxed: as above. Asked again where there was a tracer once: it may have gone, and need
        // not have what the process forks.
        let is_traced = IS_TRACED.load(Ordering::Relaxed) && SignalStatus::read().traced;
        let traced = Known::Stopped { calm: 0, within: 0 };
        Self { known: if is_traced { traced } else { Known::Nothing { long: 0 } }, ..Self::NONE }
    }

    /// Those of a thread without sources.
    pub(super) const NONE: Self = Self {
        known: Known::Nothing { long: 0 },
        row: ROW,
        untimed: 0,
        begun: (0, None),
        ended: (0, None),
        taken_ns: 0,
        samples: 0,
        looked_ns: 0,
        interval_ns: 0,
    };

    /// A handler begins. Signal side.
    #[inline]
    pub(super) fn begin(&mut self) {
        self.begun = if self.is_timed() { self.present() } else { (0, None) };
    }

    /// It ends, and was that of a sample. `period_ns` is the shortest period of the sources
    /// of CPU time; `None` if the sample is of another source, which no interval holds back.
    /// Returns whether the [interval](Self::interval_ns) has changed. Signal side.
    #[inline]
    pub(super) fn end(&mut self, period_ns: Option<u64>) -> bool {
        if !self.is_timed() {
            self.untimed -= 1;
            return false;
        }
        self.ended_at(self.present(), period_ns)
    }

    // Not inlined: most handlers are not timed.
    #[inline(never)]
    fn present(&self) -> (u64, Option<Spent>) {
        (sys::now_ns(Clock::Monotonic), self.asks().then(sys::spent))
    }

    /// Whether the present handler is timed. The same from its beginning to its end.
    const fn is_timed(&self) -> bool {
        self.untimed == 0 || !matches!(self.known, Known::Nothing { long: 0 })
    }

    /// A source of CPU time could not be set to a longer interval, and stays at this.
    #[cold]
    pub(super) fn stay_at(&mut self, interval_ns: u64, period_ns: u64) {
        self.interval_ns = if interval_ns > period_ns { interval_ns } else { 0 };
    }

    /// CPU time from one sample to the next at least, in nanoseconds; 0: as was asked for.
    pub(super) const fn interval_ns(&self) -> u64 {
        self.interval_ns
    }

    /// Whether the thread is known to be stopped at its samples.
    pub(super) const fn is_stopped(&self) -> bool {
        matches!(self.known, Known::Stopped { .. })
    }

    /// What the present sample has taken so far, in nanoseconds of elapsed time, if the thread is
    /// stopped at them; else 0. Signal side.
    pub(super) fn taken_ns(&self) -> u64 {
        let Known::Stopped { within, .. } = self.known else { return 0 };
        self.worth(self.present(), within).unwrap_or(0)
    }

    const fn asks(&self) -> bool {
        !matches!(self.known, Known::Nothing { .. })
    }

    #[inline(never)]
    fn ended_at(&mut self, now: (u64, Option<Spent>), period_ns: Option<u64>) -> bool {
        let before_ns = self.interval_ns;
        let took_ns = now.0.saturating_sub(self.begun.0);
        let waited = match (self.begun.1, now.1) {
            (Some(before), Some(after)) => before.waits != after.waits,
            _ => false,
        };
        match self.known {
            Known::Nothing { .. } if took_ns < LONG_NS => self.know_nothing(),
            Known::Nothing { long } if long + 1 < self.row => {
                self.known = Known::Nothing { long: long + 1 };
            }
            Known::Nothing { .. } => self.known = Known::Perhaps { proofs: 0 },
            Known::Perhaps { .. } if !waited || took_ns < LONG_NS => {
                self.row = (self.row * 2).min(MOST_ROW);
                self.know_nothing();
            }
            Known::Perhaps { proofs } if proofs + 1 < PROOFS => {
                self.known = Known::Perhaps { proofs: proofs + 1 };
            }
            Known::Perhaps { .. } => {
                self.known = Known::Stopped { calm: 0, within: PROOFS };
                self.begin_account(now.0);
            }
            Known::Stopped { calm, within } => {
                let within = match within {
                    PROOFS => PROOFS,
                    _ if waited => within + 1,
                    _ => 0,
                };
                let worth_ns = self.worth(now, within);
                let calm = if worth_ns.is_some() { 0 } else { calm + 1 };
                self.known = Known::Stopped { calm, within };
                if let Some(period_ns) = period_ns {
                    self.pay(worth_ns.unwrap_or(0), now.0, period_ns);
                }
                if calm == CALM_AT_FIRST {
                    self.interval_ns = 0;
                    self.begin_account(now.0);
                } else if calm == CALM {
                    self.interval_ns = 0;
                    self.know_nothing();
                }
            }
        }
        self.ended = now;
        self.interval_ns != before_ns
    }

    fn know_nothing(&mut self) {
        (self.known, self.untimed) = (Known::Nothing { long: 0 }, TIMED - 1);
    }

    fn begin_account(&mut self, now_ns: u64) {
        (self.taken_ns, self.samples, self.looked_ns) = (0, 0, now_ns);
    }

    /// What a sample has taken by now; `None` if the thread has not stopped at it, as far as that
    /// is known. It stops within so many handlers.
    fn worth(&self, now: (u64, Option<Spent>), within: u32) -> Option<u64> {
        let ((begun_ns, Some(begun)), (now_ns, Some(spent))) = (self.begun, now) else {
            return None;
        };
        let mut has_stopped = begun.waits != spent.waits;
        let mut before_ns = 0;
        if let (ended_ns, Some(ended)) = self.ended {
            has_stopped |= within < PROOFS && ended.waits != begun.waits;
            let ran_ns = begun.cpu_ns.saturating_sub(ended.cpu_ns);
            before_ns = begun_ns.saturating_sub(ended_ns).saturating_sub(ran_ns).min(BEFORE_NS);
        }
        has_stopped.then(|| before_ns + now_ns.saturating_sub(begun_ns))
    }

    /// Notes what a sample has taken, and sets the interval where it is time to.
    fn pay(&mut self, taken_ns: u64, now_ns: u64, period_ns: u64) {
        if self.looked_ns == 0 {
            self.begin_account(now_ns);
            return;
        }
        self.taken_ns += taken_ns;
        self.samples += 1;
        let elapsed_ns = now_ns.saturating_sub(self.looked_ns);
        if elapsed_ns < LOOK_NS || self.samples < LOOK_SAMPLES {
            return;
        }
        let (taken_ns, allowed_ns) = (self.taken_ns, (elapsed_ns / SHARE).max(1));
        self.begin_account(now_ns);
        // One that is longer is left where it could be half as long: it shall not swing.
        if taken_ns <= allowed_ns && taken_ns > allowed_ns / 2 {
            return;
        }
        let thousandths = taken_ns.saturating_mul(1000).checked_div(allowed_ns).unwrap_or(0);
        let present_ns = self.interval_ns.max(period_ns);
        let wanted_ns = (present_ns.saturating_mul(thousandths) / 1000).min(LONGEST_NS);
        self.interval_ns = if wanted_ns > period_ns { wanted_ns } else { 0 };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PERIOD_NS: u64 = 200_000;

    /// A thread whose samples take so much CPU time, and so much elapsed time while it is stopped:
    /// before the handler and in it.
    struct Thread {
        stops: Stops,
        now_ns: u64,
        spent: Spent,
        handler_ns: u64,
        stopped_ns: [u64; 2],
        /// How long it waits before each sample, of its own accord.
        waits_ns: u64,
        in_samples_ns: u64,
        samples: u64,
    }

    impl Thread {
        fn new(is_traced: bool, handler_ns: u64, stopped_ns: [u64; 2]) -> Self {
            let mut stops = Stops::NONE;
            if is_traced {
                stops.known = Known::Stopped { calm: 0, within: 0 };
            }
            let spent = Spent::default();
            let (now_ns, in_samples_ns, samples) = (1, 0, 0);
            let waits_ns = 0;
            Self { stops, now_ns, spent, handler_ns, stopped_ns, waits_ns, in_samples_ns, samples }
        }

        fn runs(&mut self, ns: u64) {
            self.now_ns += ns;
            self.spent.cpu_ns += ns;
        }

        fn stops(&mut self, ns: u64) {
            self.now_ns += ns;
            self.spent.waits += u64::from(ns > 0);
        }

        fn moment(&self) -> (u64, Option<Spent>) {
            (self.now_ns, self.stops.asks().then_some(self.spent))
        }

        /// Runs an interval, unless the handler took longer, and takes a sample.
        fn sample(&mut self) {
            let interval_ns = self.stops.interval_ns().max(PERIOD_NS);
            self.runs(interval_ns.saturating_sub(self.handler_ns));
            self.stops(self.waits_ns);
            let before_ns = self.now_ns;
            self.stops(self.stopped_ns[0]);
            self.stops.begun = self.moment();
            self.runs(self.handler_ns);
            self.stops(self.stopped_ns[1]);
            if self.stops.is_timed() {
                let now = self.moment();
                self.stops.ended_at(now, Some(PERIOD_NS));
            } else {
                self.stops.untimed -= 1;
            }
            self.in_samples_ns += self.now_ns - before_ns;
            self.samples += 1;
        }

        /// What share of the time samples take, in thousandths, after so many.
        fn share_after(&mut self, samples: u64) -> u64 {
            (0..samples).for_each(|_| self.sample());
            (self.in_samples_ns, self.samples) = (0, 0);
            let before_ns = self.now_ns;
            (0..100).for_each(|_| self.sample());
            1000 * self.in_samples_ns / (self.now_ns - before_ns)
        }
    }

    #[test]
    fn samples_that_stop_a_thread_take_a_share() {
        // A tracer of system calls, the same on a busy machine, a debugger that steps.
        for (handler_ns, stopped_ns) in
            [(20_000, [30_000, 60_000]), (20_000, [900_000, 6_000_000]), (3_000_000, [30_000; 2])]
        {
            for is_traced in [false, true] {
                let mut thread = Thread::new(is_traced, handler_ns, stopped_ns);
                let share = thread.share_after(3_000);
                assert!((40..=130).contains(&share), "{stopped_ns:?}: {share}");
                assert!(thread.stops.is_stopped());
            }
        }
    }

    #[test]
    fn a_debugger_that_lets_signals_pass_is_known_from_the_start_only() {
        let stopped_ns = [150_000, 0];
        let mut started = Thread::new(true, 20_000, stopped_ns);
        assert!(started.share_after(3_000) <= 130);
        // One handler has waited for a page.
        started.stopped_ns[1] = 100_000;
        started.sample();
        started.stopped_ns[1] = 0;
        assert!(started.share_after(3_000) <= 130 && started.stops.is_stopped());
        let mut later = Thread::new(false, 20_000, stopped_ns);
        later.share_after(3_000);
        assert!(!later.stops.is_stopped());
    }

    #[test]
    fn a_thread_that_nobody_stops_is_sampled_as_often_as_was_asked_for() {
        // Also where handlers take long, or begin late, or the processor is taken away.
        for handler_ns in [1_000, 100_000, 1_000_000] {
            let mut thread = Thread::new(false, handler_ns, [0; 2]);
            for _ in 0..10_000 {
                thread.sample();
                thread.now_ns += 300_000;
                assert_eq!(thread.stops.interval_ns(), 0);
            }
            assert!(!thread.stops.is_stopped());
        }
        // Its waits are its own.
        let mut thread = Thread::new(false, 60_000, [300_000, 0]);
        thread.share_after(10_000);
        assert_eq!((thread.stops.interval_ns(), thread.stops.is_stopped()), (0, false));
    }

    #[test]
    fn it_is_looked_less_and_less_often_at_handlers_that_take_long() {
        let mut thread = Thread::new(false, 1_000_000, [0; 2]);
        let mut looks = 0;
        for _ in 0..100_000 {
            thread.sample();
            looks += u32::from(thread.stops.asks());
        }
        // One in so many handlers.
        assert!(looks < 100_000 / MOST_ROW + 40, "{looks}");
    }

    #[test]
    fn a_thread_whose_tracer_has_gone_is_sampled_as_before() {
        let mut thread = Thread::new(true, 20_000, [300_000; 2]);
        thread.share_after(3_000);
        assert!(thread.stops.interval_ns() > PERIOD_NS);
        thread.stopped_ns = [0; 2];
        thread.share_after(u64::from(CALM));
        assert_eq!((thread.stops.interval_ns(), thread.stops.is_stopped()), (0, false));
    }

    #[test]
    fn waits_of_a_thread_whose_tracer_has_gone_are_its_own() {
        for is_traced in [false, true] {
            let mut thread = Thread::new(is_traced, 20_000, [300_000; 2]);
            thread.waits_ns = 2_000_000;
            thread.share_after(3_000);
            assert!(thread.stops.is_stopped());
            thread.stopped_ns = [0; 2];
            thread.share_after(u64::from(CALM));
            assert_eq!((thread.stops.interval_ns(), thread.stops.is_stopped()), (0, false));
        }
    }

    #[test]
    fn the_interval_is_that_which_was_asked_for_soon_after_the_tracer_has_gone() {
        let mut thread = Thread::new(true, 20_000, [0, 1 << 40]);
        thread.share_after(1_000);
        assert_eq!(thread.stops.interval_ns(), LONGEST_NS);
        thread.stopped_ns = [0; 2];
        (0..CALM_AT_FIRST).for_each(|_| thread.sample());
        assert_eq!((thread.stops.interval_ns(), thread.stops.is_stopped()), (0, true));
        // Not yet, if it stops again.
        thread.stopped_ns = [30_000, 10_000_000];
        (0..=LOOK_SAMPLES).for_each(|_| thread.sample());
        assert!(thread.stops.interval_ns() > PERIOD_NS);
    }

    #[test]
    fn handlers_that_wait_and_are_short_are_not_stopped() {
        let mut thread = Thread::new(false, 100_000, [0; 2]);
        for _ in 0..10_000 {
            let is_suspected = thread.stops.asks();
            thread.handler_ns = if is_suspected { 1_000 } else { 100_000 };
            thread.stopped_ns = [0, if is_suspected { 10_000 } else { 0 }];
            thread.sample();
            assert!(!thread.stops.is_stopped());
        }
    }

    /// A tracer that there was once may have gone, and need not have the next thread or child.
    #[test]
    #[expect(unsafe_code, reason = "a child that is traced")]
    fn a_thread_that_starts_asks_whether_it_is_traced_itself() {
        let is_traced = SignalStatus::read().traced;
        expect();
        assert_eq!(Stops::new().is_stopped(), is_traced);
        // SAFETY: the child asks the kernel, takes no lock that the tests do, and ends.
        let child = unsafe { libc::fork() };
        if child == 0 {
            // SAFETY: its tracer is the parent, which waits for its end.
            let refused = unsafe { libc::ptrace(libc::PTRACE_TRACEME, 0, 0, 0) } != 0;
            let answer = if refused { 2 } else { i32::from(Stops::new().is_stopped()) };
            // SAFETY: ends the child.
            unsafe { libc::_exit(answer) };
        }
        let mut status = 0;
        // SAFETY: a child of this thread's, and a live local.
        assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
        match libc::WEXITSTATUS(status) {
            2 => eprintln!("skipped: a traced thread: nobody may trace here"),
            answer => assert_eq!((libc::WIFEXITED(status), answer), (true, 1)),
        }
    }

    /// The kernel has refused a longer interval.
    #[test]
    fn a_thread_whose_interval_stays_is_sampled_as_before() {
        let mut thread = Thread::new(true, 20_000, [30_000, 60_000]);
        let mut refusals = 0;
        for _ in 0..3_000 {
            let before_ns = thread.stops.interval_ns();
            thread.sample();
            if thread.stops.interval_ns() > before_ns {
                thread.stops.stay_at(PERIOD_NS, PERIOD_NS);
                refusals += 1;
            }
            assert_eq!(thread.stops.interval_ns(), 0, "as was asked for");
        }
        assert!(refusals > 10, "it is asked for again: {refusals}");
        // At one that is longer than was asked for.
        thread.stops.stay_at(5 * PERIOD_NS, PERIOD_NS);
        assert_eq!(thread.stops.interval_ns(), 5 * PERIOD_NS);
        assert!(thread.stops.is_stopped());
    }

    #[test]
    fn samples_that_no_interval_holds_back_are_not_in_its_account() {
        let mut thread = Thread::new(true, 20_000, [300_000; 2]);
        for _ in 0..1_000 {
            thread.stops(1_000_000);
            thread.stops.begun = thread.moment();
            thread.stops(300_000);
            let now = thread.moment();
            assert!(!thread.stops.ended_at(now, None));
        }
        assert_eq!((thread.stops.interval_ns(), thread.stops.is_stopped()), (0, true));
    }

    #[test]
    fn most_handlers_are_not_timed_while_nothing_is_suspected() {
        let mut thread = Thread::new(false, 5_000, [0; 2]);
        let mut timed = 0;
        for _ in 0..8_000 {
            timed += u32::from(thread.stops.is_timed());
            thread.sample();
        }
        assert_eq!(timed, 1_000);
    }

    #[test]
    fn no_interval_is_longer_than_that_of_interruptions() {
        let mut thread = Thread::new(true, 20_000, [0, 1 << 40]);
        (0..1_000).for_each(|_| thread.sample());
        assert_eq!(thread.stops.interval_ns(), LONGEST_NS);
    }
}
