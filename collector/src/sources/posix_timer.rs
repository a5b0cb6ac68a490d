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
use crate::sys::{Clock, Errno, Timer};

/// A timer of the calling thread.
#[derive(Debug)]
pub(super) struct PosixTimer {
    handle: TimerHandle,
    cookie: usize,
    /// Periods of elapsed time; `None` for CPU time, of which the kernel counts them.
    due: Option<Due>,
}

/// A timer and how it is set.
#[derive(Clone, Copy, Debug)]
pub struct TimerHandle {
    timer: Timer,
    clock: Clock,
    period_ns: u64,
}

impl PosixTimer {
    /// Makes the timer, and starts it if it is on CPU time.
    pub(super) fn open(source: SampleSource, tid: u32, cookie: usize) -> Result<Self, Errno> {
        let counts_waits = source.kind.properties().counts_waits;
        let clock = if counts_waits { Clock::Monotonic } else { Clock::ThreadCpu };
        let period_ns = source.period;
        let due = counts_waits.then(|| Due::new(clock, period_ns));
        let timer = Timer::create(clock, SIGNAL, tid, cookie)?;
        let handle = TimerHandle { timer, clock, period_ns };
        handle.start(Pace::EACH_PERIOD);
        Ok(Self { handle, cookie, due })
    }

    pub(super) const fn handle(&self) -> TimerHandle {
        self.handle
    }

    pub(super) fn weight(&mut self, signal: &SignalInfo) -> Option<u64> {
        let ours = signal.code == libc::SI_TIMER && signal.value == self.cookie as u64;
        ours.then(|| match &mut self.due {
            Some(due) => due.take_for_timer(),
            None => 1 + u64::from(signal.overrun.unsigned_abs()),
        })
    }
}

impl Object for TimerHandle {
    fn start(&self, pace: Pace) {
        let periods = self.paced_period_ns().map_or(1, |_| pace.periods());
        let interval_ns = self.period_ns.saturating_mul(periods);
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

    fn paced_period_ns(&self) -> Option<u64> {
        (self.clock == Clock::Monotonic).then_some(self.period_ns)
    }
}
