//! CPU time or elapsed time of one thread, by a POSIX timer.
//!
//! On `CLOCK_THREAD_CPUTIME_ID` the kernel looks at the timer at its tick only, so at most HZ
//! signals arrive each second (250 on many systems), each with the overruns since the last. That
//! costs nothing measurable and wakes nobody up. On `CLOCK_MONOTONIC` a high-resolution timer
//! interrupts sleeping system calls, at an interval of one period or, where threads are many, of
//! several ([`Pace`]). It may be set again at any time, so what a signal stands for is
//! told by the clock.

use csprof_format::launch::SampleSource;

use super::due::{Due, random_below};
use super::object::Object;
use super::pace::Pace;
use super::signal_info::{SIGNAL, SignalInfo};
use crate::control::Setting;
use crate::sys::{Clock, Errno, Timer};

/// A timer of the calling thread.
#[derive(Debug)]
pub(super) struct PosixTimer {
    handle: TimerHandle,
    cookie: usize,
    /// The pace that it was set to.
    pace: Pace,
    /// Periods of elapsed time; `None` for CPU time, of which the kernel counts them.
    due: Option<Due>,
}

/// In a pause, a timer of elapsed time comes no more often than this: often enough to notice the
/// end of the pause soon, and no load for a program that waits.
const LOOK_NS: u64 = 100_000_000;

/// A timer and how it is set.
#[derive(Clone, Copy, Debug)]
pub struct TimerHandle {
    timer: Timer,
    metric: usize,
    clock: Clock,
    period_ns: u64,
}

impl PosixTimer {
    /// Makes the timer, and starts it if it is on CPU time.
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
        handle.start();
        Ok(Self { handle, cookie, pace, due })
    }

    pub(super) const fn handle(&self) -> TimerHandle {
        self.handle
    }

    pub(super) fn has_sent(&self, signal: &SignalInfo) -> bool {
        signal.code == libc::SI_TIMER && signal.value == self.cookie as u64
    }

    /// Periods that its signal stands for. What is to be done in a pause with those of CPU time is
    /// not decided here; of elapsed time none passes. Sets the timer for another setting.
    pub(super) fn weight(&mut self, signal: &SignalInfo, before: Setting, now: Setting) -> u64 {
        let is_set_otherwise = (now.is_paused, now.every) != (before.is_paused, before.every);
        if is_set_otherwise && self.due.is_some() {
            self.keep_pace();
        }
        let Some(due) = &mut self.due else { return 1 + u64::from(signal.overrun.unsigned_abs()) };
        if now.is_paused {
            0
        } else if now.is_steady_since(before) {
            due.take_for_timer()
        } else {
            // It is not the clock of the timer that stood still.
            due.take()
        }
    }

    /// Whether it is of elapsed time, and set to another pace than the present one.
    pub(super) fn is_out_of_pace(&self) -> bool {
        self.due.is_some() && self.pace != Pace::present()
    }

    /// Sets it to the present pace.
    pub(super) fn keep_pace(&mut self) {
        self.pace = Pace::present();
        self.handle.start();
    }
}

impl Object for TimerHandle {
    fn start(&self) {
        // CPU time costs an interruption at the kernel's tick at most, of a thread that runs.
        let interval_ns = if self.clock == Clock::Monotonic {
            let (pace, setting) = (Pace::present(), Setting::of(self.metric));
            let interval_ns = self.period_ns.saturating_mul(pace.periods().max(setting.every));
            if setting.is_paused { interval_ns.max(LOOK_NS) } else { interval_ns }
        } else {
            self.period_ns
        };
        // The first sample comes after a part of a period chosen at random. With a whole
        // one, each thread would lose its unfinished period, and a run of many short
        // processes most of its samples. What passes between the kernel's last tick and a
        // thread's end is still not seen.
        let _ = self.timer.set(random_below(interval_ns) + 1, interval_ns);
    }

    fn stop(&self) {
        let _ = self.timer.set(0, 0);
    }

    fn close(&self) {
        self.timer.delete();
    }
}
