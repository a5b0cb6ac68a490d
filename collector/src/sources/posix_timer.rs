//! CPU time or elapsed time of one thread, by a POSIX timer.
//!
//! On `CLOCK_THREAD_CPUTIME_ID` the kernel looks at the timer at its tick only, so at most HZ
//! signals arrive each second (250 on many systems), each with the overruns since the last. That
//! costs nothing measurable and wakes nobody up. On `CLOCK_MONOTONIC` a high-resolution timer
//! interrupts sleeping system calls, at an interval of one period or, where that would take too
//! much, of several ([`Pace`]). It may be set again at any time, so what a signal stands for is
//! told by the clock. The same goes for a timer of CPU time once its thread is known to be
//! [stopped](super::stops) at its samples, or [waits for SIGPROF](PosixTimer::put_off).

use csprof_format::launch::SampleSource;

use super::due::{Due, random_below};
use super::object::Object;
use super::pace::Pace;
use super::signal_info::{SIGNAL, SignalInfo};
use crate::control::Setting;
use crate::sys::{Clock, Errno, PausedTimer, Timer};

/// A timer of the calling thread.
#[derive(Debug)]
pub(super) struct PosixTimer {
    handle: TimerHandle,
    cookie: usize,
    /// The pace that it was set to by its own thread.
    pace: Pace,
    /// Periods from one of its signals to the next, as far as that is known here: another thread
    /// may have [restarted](super::pace::restarted) it since.
    interval: u64,
    /// Whether it comes less often than was asked for, since that would take too much.
    is_slower: bool,
    /// Whether it is to be set anew, since its last signal.
    is_out_of_pace: bool,
    /// Periods of the clock; `None` where the kernel counts them, which it does of CPU time.
    due: Option<Due>,
    /// Of CPU time, how many periods there are to be from one signal to the next. At least 1.
    held: u64,
    /// By how much it was [put off](Self::put_off) since its last signal, in nanoseconds.
    put_off_ns: u64,
    /// Periods of its signals that were [taken off](Self::take_off) before it went by the clock.
    taken_off: u64,
}

/// In a pause, a timer of elapsed time comes no more often than this: often enough to notice the
/// end of the pause soon, and no load for a program that waits.
const LOOK_NS: u64 = 100_000_000;

/// A timer of elapsed time comes no less often than this, unless it was asked to: what passes after
/// a thread's last sample is lost, and only with a sample does it find that the pace is another.
const LONGEST_NS: u64 = 2_000_000_000;

/// More than a thread runs in a wait: as it falls asleep, and as it is woken up.
const WAIT_NS: u64 = 200_000;

/// A timer is put off by so much in all: about a tick of the kernel's, which it waits for anyway.
const MOST_PUT_OFF_NS: u64 = 4_000_000;

/// A timer and how it is set.
#[derive(Clone, Copy, Debug)]
pub struct TimerHandle {
    timer: Timer,
    metric: usize,
    clock: Clock,
    period_ns: u64,
}

impl PosixTimer {
    /// Makes the timer, and starts it.
    pub(super) fn open(
        source: SampleSource,
        metric: usize,
        tid: u32,
        cookie: usize,
    ) -> Result<Self, Errno> {
        let counts_waits = source.kind.properties().counts_waits;
        let clock = if counts_waits { Clock::Monotonic } else { Clock::ThreadCpu };
        let period_ns = source.period;
        let due = counts_waits.then(|| Due::new(clock, period_ns));
        let timer = Timer::create(clock, SIGNAL, tid, cookie)?;
        let handle = TimerHandle { timer, metric, clock, period_ns };
        let pace = Pace::present();
        let (interval, is_slower) = handle.start_at(handle.paced(pace), random_below);
        Ok(Self {
            handle,
            cookie,
            pace,
            interval,
            is_slower,
            is_out_of_pace: false,
            due,
            held: 1,
            put_off_ns: 0,
            taken_off: 0,
        })
    }

    pub(super) const fn handle(&self) -> TimerHandle {
        self.handle
    }

    pub(super) fn has_sent(&self, signal: &SignalInfo) -> bool {
        signal.code == libc::SI_TIMER && signal.value == self.cookie as u64
    }

    /// Periods that its signal stands for. What is to be done in a pause with those of CPU time is
    /// not decided here; of elapsed time none passes.
    pub(super) fn weight(&mut self, signal: &SignalInfo, before: Setting, now: Setting) -> u64 {
        self.put_off_ns = 0;
        let Some(due) = &mut self.due else { return 1 + u64::from(signal.overrun.unsigned_abs()) };
        let (is_elapsed, present) = (self.handle.clock == Clock::Monotonic, Pace::present());
        if is_elapsed {
            self.is_out_of_pace |= now != before || self.pace != present;
        } else {
            self.is_out_of_pace |= self.held > 1 && self.pace != present;
        }
        if now.is_paused && is_elapsed {
            0
        } else if !is_elapsed || now.is_steady_since(before) {
            due.take_for_timer()
        } else {
            // It is not the clock of the timer that stood still.
            due.take()
        }
    }

    /// Of elapsed time, the periods from one of its signals to the next, and whether these are more
    /// than was asked for.
    pub(super) fn interval(&self) -> Option<(u64, bool)> {
        (self.handle.clock == Clock::Monotonic).then_some((self.interval, self.is_slower))
    }

    /// Its thread is known to be [stopped](super::stops), or takes samples off: if it is of CPU
    /// time, what its signals stand for is told by the clock from here on. Signal side.
    #[cold]
    #[inline(never)]
    pub(super) fn go_by_clock(&mut self) {
        if self.due.is_none() {
            let TimerHandle { timer, clock, period_ns, .. } = self.handle;
            let passed_ns = period_ns.saturating_sub(timer.left_ns());
            self.due = Some(Due::within(clock, period_ns, passed_ns));
        }
    }

    /// Its thread is about to wait for a signal that a sample would take the place of. If it is of
    /// CPU time, it goes by the clock from here on, since samples are taken off; and if it would
    /// come due in the wait, it comes when the thread has run for somewhat longer. Not without end,
    /// or where waits are close together there would be no samples.
    pub(super) fn put_off(&mut self) {
        let TimerHandle { timer, clock, period_ns, .. } = self.handle;
        if clock != Clock::ThreadCpu {
            return;
        }
        self.go_by_clock();
        if let Some(due) = &mut self.due {
            due.add(core::mem::take(&mut self.taken_off));
        }
        // Nothing is left of one that is stopped, and 1 ns where the tick has not come yet.
        let left_ns = timer.left_ns();
        if (1..WAIT_NS).contains(&left_ns) && self.put_off_ns < MOST_PUT_OFF_NS {
            let _ = timer.set(WAIT_NS, period_ns.saturating_mul(self.held));
            self.put_off_ns += WAIT_NS - left_ns;
        }
    }

    /// A signal that it has sent was taken off. What that stood for is still due.
    pub(super) fn take_off(&mut self, signal: &SignalInfo) {
        // By the clock it is so anyway.
        if self.due.is_none() {
            self.taken_off += 1 + u64::from(signal.overrun.unsigned_abs());
        }
    }

    /// If it is of CPU time, and goes by the clock, there is to be so much of that from one of its
    /// signals to the next, or else a period.
    pub(super) fn hold(&mut self, interval_ns: u64) {
        if self.handle.clock == Clock::Monotonic || self.due.is_none() {
            return;
        }
        let held = spacing(interval_ns, self.handle.period_ns);
        self.is_out_of_pace |= held != self.held;
        self.held = held;
    }

    /// Whether it is to be set to the present pace, or what it is [held](Self::hold) to, since it
    /// has interrupted its thread: at another time, one that is set again and again would never
    /// come.
    pub(super) const fn is_out_of_pace(&self) -> bool {
        self.is_out_of_pace
    }

    /// Sets it anew, to a whole interval from now: less would be too early.
    pub(super) fn keep_pace(&mut self) {
        let pace = Pace::present();
        let periods = self.handle.paced(pace).max(self.held);
        (self.interval, self.is_slower) =
            self.handle.start_at(periods, |interval_ns| interval_ns - 1);
        (self.pace, self.is_out_of_pace) = (pace, false);
    }
}

/// So many periods are an interval at least. At least 1.
pub(super) fn spacing(interval_ns: u64, period_ns: u64) -> u64 {
    interval_ns.div_ceil(period_ns.max(1)).max(1)
}

impl TimerHandle {
    /// What a pace means for it, in periods: CPU time costs an interruption at the kernel's tick at
    /// most, of a thread that runs.
    fn paced(&self, pace: Pace) -> u64 {
        if self.clock == Clock::Monotonic { pace.periods() } else { 1 }
    }

    /// Starts it with so many periods from one signal to the next, so many nanoseconds and one from
    /// now: `first` is told the interval. Returns that in periods, and whether it is longer than
    /// was asked for.
    fn start_at(&self, periods: u64, first: impl FnOnce(u64) -> u64) -> (u64, bool) {
        let paced_ns = self.period_ns.saturating_mul(periods).min(LONGEST_NS);
        let least_ns = if self.clock == Clock::Monotonic {
            let setting = Setting::of(self.metric);
            let asked_ns = self.period_ns.saturating_mul(setting.every);
            if setting.is_paused { asked_ns.max(LOOK_NS) } else { asked_ns }
        } else {
            self.period_ns
        };
        let interval_ns = paced_ns.max(least_ns);
        let _ = self.timer.set(first(interval_ns) + 1, interval_ns);
        (interval_ns.checked_div(self.period_ns).unwrap_or(1), paced_ns > least_ns)
    }
}

impl TimerHandle {
    /// Stops it, to go on where it was.
    pub(super) fn pause(&self) -> Option<PausedTimer> {
        self.timer.pause()
    }
}

impl Object for TimerHandle {
    fn start(&self) {
        // The first sample comes after a part of a period chosen at random. With a whole
        // one, each thread would lose its unfinished period, and a run of many short
        // processes most of its samples. What passes between the kernel's last tick and a
        // thread's end is still not seen.
        self.start_at(self.paced(Pace::present()), random_below);
    }

    fn stop(&self) {
        let _ = self.timer.set(0, 0);
    }

    fn close(&self) {
        self.timer.delete();
    }
}
