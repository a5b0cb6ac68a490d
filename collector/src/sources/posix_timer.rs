//! CPU time or elapsed time of one thread, by a POSIX timer.
//!
//! On `CLOCK_THREAD_CPUTIME_ID` the kernel looks at the timer at its tick only, so at most HZ
//! signals arrive each second (250 on many systems), each with the overruns since the last. That
//! costs nothing measurable and wakes nobody up. On `CLOCK_MONOTONIC` a high-resolution timer
//! interrupts sleeping system calls, at an interval of one period or, where threads are many, of several
//! ([`Pace`](super::Pace)). It may be set again at any time, so what a signal stands for is told by the clock.

use super::due::Due;
use super::signal_info::{SIGNAL, SignalInfo};
use crate::sys::{Clock, Errno, Timer};

/// A timer of the calling thread.
#[derive(Debug)]
pub(super) struct PosixTimer {
    pub(super) timer: Timer,
    pub(super) period_ns: u64,
    cookie: usize,
    /// Periods of elapsed time; `None` for CPU time, of which the kernel counts them.
    due: Option<Due>,
}

impl PosixTimer {
    /// Makes the timer, stopped.
    pub(super) fn open(
        clock: Clock,
        period_ns: u64,
        tid: u32,
        cookie: usize,
    ) -> Result<Self, Errno> {
        let due = (clock == Clock::Monotonic).then(|| Due::new(clock, period_ns));
        Ok(Self { timer: Timer::create(clock, SIGNAL, tid, cookie)?, period_ns, cookie, due })
    }

    pub(super) const fn is_of_elapsed_time(&self) -> bool {
        self.due.is_some()
    }

    pub(super) fn weight(&mut self, signal: &SignalInfo) -> Option<u64> {
        let ours = signal.code == libc::SI_TIMER && signal.value == self.cookie as u64;
        ours.then(|| match &mut self.due {
            Some(due) => due.take_for_signal(),
            None => 1 + u64::from(signal.overrun.unsigned_abs()),
        })
    }
}
