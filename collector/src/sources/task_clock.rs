//! CPU time of one thread, by the kernel's software event task-clock.
//!
//! A high-resolution timer in the kernel: exact at thousands of samples per second, at 17 µs for each on
//! a virtual machine, or 27 µs where [SIGTRAP](super::loan) is not to be had. The signal
//! says nothing about what it stands for, and a second one is dropped while the first is pending,
//! so the weight is computed from the thread's CPU clock.

use alloc::sync::Arc;

use super::due::Due;
use super::loan;
use super::signal_info::{SIGNAL, SignalInfo};
use crate::messages::{self, Warning};
use crate::sys::{Clock, Delivery, PerfError, PerfTaskClock};

/// An event of the calling thread.
#[derive(Debug)]
pub(super) struct TaskClock {
    pub(super) event: Arc<PerfTaskClock>,
    /// What comes back in a SIGTRAP.
    pub(super) cookie: u64,
    due: Due,
}

/// Shortest interval of signals, in nanoseconds: each takes up to 27 µs of the thread's own CPU time, so a thread
/// with a shorter one would do little else. A shorter period has samples that stand for several.
const LEAST_NS: u64 = 50_000;

/// Opens and starts an event, by SIGTRAP if that is on loan.
pub(super) fn start(event: &PerfTaskClock, cookie: u64) -> Result<(), PerfError> {
    let by_trap = match loan::on_loan() {
        true => event.open(Delivery::Synchronous(cookie)).is_ok(),
        false => false,
    };
    if by_trap { Ok(()) } else { event.open(Delivery::Asynchronous) }
}

impl TaskClock {
    /// Opens the event, and starts it.
    pub(super) fn open(period_ns: u64, tid: u32, cookie: usize) -> Result<Self, PerfError> {
        if period_ns < LEAST_NS {
            messages::warn_once(
                Warning::ShortPeriod,
                "a thread is sampled every 50 us of its CPU time at most, for a sample takes up to \
                 27 us: each stands for several periods",
            );
        }
        let event = PerfTaskClock::new(period_ns.max(LEAST_NS), SIGNAL, tid);
        let (cookie, due) = (cookie as u64, Due::new(Clock::ThreadCpu, period_ns));
        start(&event, cookie)?;
        Ok(Self { event: Arc::new(event), cookie, due })
    }

    /// What passed without a sample since the program closed the event's file; 0 if it did not.
    pub(super) fn lost(&mut self) -> u64 {
        if self.event.is_lost() { self.due.take() } else { 0 }
    }

    pub(super) fn weight(&mut self, signal: &SignalInfo) -> Option<u64> {
        let ours = if signal.signo == loan::TRAP {
            signal.code == loan::TRAP_PERF && signal.value == self.cookie
        } else {
            // F_SETSIG fills si_code with the band's POLL_ code and si_fd with the file (fcntl(2)).
            signal.code > 0 && signal.value as i32 == self.event.number()
        };
        ours.then(|| self.due.take_for_signal())
    }
}
