//! CPU time of one thread, by the kernel's software event task-clock.
//!
//! A high-resolution timer in the kernel: exact at thousands of samples per second, at 17 µs for each on
//! a virtual machine, or 27 µs where [SIGTRAP](crate::sampling::trap) is not to be had. The signal
//! says nothing about what it stands for, and a second one is dropped while the first is pending,
//! so the weight is computed from the thread's CPU clock.

use super::{Handle, SignalInfo};
use crate::sampling::{SIGNAL, trap};
use crate::sys::{self, Clock, Delivery, PerfError, PerfTaskClock};

/// An event of the calling thread.
#[derive(Debug)]
pub(super) struct TaskClock {
    event: PerfTaskClock,
    period_ns: u64,
    /// What comes back in a SIGTRAP.
    cookie: u64,
    /// CPU time of the thread when the event was opened, in nanoseconds.
    start_ns: u64,
    /// Periods accounted for since then.
    accounted: u64,
}

impl TaskClock {
    /// Opens the event, stopped.
    pub(super) fn open(period_ns: u64, tid: u32, cookie: usize) -> Result<Self, PerfError> {
        let cookie = cookie as u64;
        let open = |delivery| PerfTaskClock::open(period_ns, SIGNAL, tid, delivery);
        let event = if trap::on_loan() {
            open(Delivery::Synchronous(cookie)).or_else(|_| open(Delivery::Asynchronous))
        } else {
            open(Delivery::Asynchronous)
        };
        Ok(Self {
            event: event?,
            period_ns,
            cookie,
            start_ns: sys::now_ns(Clock::ThreadCpu),
            accounted: 0,
        })
    }

    pub(super) const fn handle(&self) -> Handle {
        Handle::TaskClock(self.event, self.period_ns)
    }

    /// Periods that have passed and that no signal stood for.
    fn due(&self) -> u64 {
        let elapsed = sys::now_ns(Clock::ThreadCpu).saturating_sub(self.start_ns);
        elapsed.checked_div(self.period_ns).unwrap_or(0).saturating_sub(self.accounted)
    }

    /// What passed without a sample since the program closed the event's file; 0 if it did not.
    pub(super) fn lost(&mut self) -> u64 {
        if self.event.is_ours() {
            return 0;
        }
        let due = self.due();
        self.accounted += due;
        due
    }

    pub(super) fn weight(&mut self, signal: &SignalInfo) -> Option<u64> {
        let ours = if signal.signo == trap::TRAP {
            signal.code == trap::TRAP_PERF && signal.value == self.cookie
        } else {
            // F_SETSIG fills si_code with the band's POLL_ code and si_fd with the file (fcntl(2)).
            signal.code > 0 && signal.value as i32 == self.event.fd()
        };
        if !ours {
            return None;
        }
        let due = self.due();
        // The event's clock and the thread's differ by a fraction of a period: a signal is always
        // worth one, and what that anticipates is not counted again.
        let weight = due.max(1);
        self.accounted += weight;
        Some(weight)
    }
}
