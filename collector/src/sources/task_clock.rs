//! CPU time of one thread, by the kernel's software event task-clock.
//!
//! A high-resolution timer in the kernel: exact at thousands of samples per second, at 17 µs for
//! each on a virtual machine, or 27 µs where [SIGTRAP](super::loan) is not to be had. The signal
//! says nothing about what it stands for, and a second one is dropped while the first is pending,
//! so the weight is computed from the thread's CPU clock.

use alloc::format;
use alloc::sync::Arc;

use csprof_format::launch::SampleSource;

use super::due::Due;
use super::loan;
use super::object::Object;
use super::pace::Pace;
use super::signal_info::{SIGNAL, SignalInfo};
use crate::messages::{self, Warning};
use crate::sys::{Clock, Delivery, PerfError, PerfTaskClock};

/// An event of the calling thread.
#[derive(Debug)]
pub(super) struct TaskClock {
    handle: EventHandle,
    due: Due,
}

/// An event and what comes back in its SIGTRAP.
#[derive(Clone, Debug)]
pub struct EventHandle {
    event: Arc<PerfTaskClock>,
    cookie: u64,
}

/// Shortest interval of signals, in nanoseconds: each takes up to 27 µs of the thread's own CPU
/// time, so a thread with a shorter one would do little else. A shorter period has samples that
/// stand for several.
const LEAST_NS: u64 = 50_000;

impl EventHandle {
    /// Opens and starts the event, by SIGTRAP if that is on loan.
    fn open(&self) -> Result<(), PerfError> {
        let by_trap = match loan::on_loan() {
            true => self.event.open(Delivery::Synchronous(self.cookie)).is_ok(),
            false => false,
        };
        if by_trap { Ok(()) } else { self.event.open(Delivery::Asynchronous) }
    }
}

impl TaskClock {
    /// Opens the event, and starts it.
    pub(super) fn open(source: SampleSource, tid: u32, cookie: usize) -> Result<Self, PerfError> {
        let period_ns = source.period;
        if period_ns < LEAST_NS {
            messages::warn_once(
                Warning::ShortPeriod,
                "a thread is sampled every 50 us of its CPU time at most, for a sample takes up to \
                 27 us: each stands for several periods",
            );
        }
        let event = PerfTaskClock::new(period_ns.max(LEAST_NS), SIGNAL, tid);
        let due = Due::new(Clock::ThreadCpu, period_ns);
        let handle = EventHandle { event: Arc::new(event), cookie: cookie as u64 };
        handle.open()?;
        Ok(Self { handle, due })
    }

    pub(super) fn handle(&self) -> EventHandle {
        self.handle.clone()
    }

    /// What passed without a sample since the program closed the event's file; 0 if it did not.
    pub(super) fn lost(&mut self) -> u64 {
        if self.handle.event.is_lost() { self.due.take() } else { 0 }
    }

    pub(super) fn has_sent(&self, signal: &SignalInfo) -> bool {
        if signal.signo == loan::TRAP {
            signal.code == loan::TRAP_PERF && signal.value == self.handle.cookie
        } else {
            // F_SETSIG fills si_code with the band's POLL_ code and si_fd with the file (fcntl(2)).
            signal.code > 0 && signal.value as i32 == self.handle.event.number()
        }
    }

    pub(super) fn weight(&mut self) -> u64 {
        self.due.take_for_event()
    }
}

impl Object for EventHandle {
    fn start(&self, _: Pace) {
        self.event.close();
        if let Err(refused) = self.open() {
            messages::warn_once(
                Warning::EventNotRestarted,
                &format!("a thread is not sampled any more: error {}", refused.0.0),
            );
        }
    }

    fn stop(&self) {
        self.event.close();
    }

    fn close(&self) {
        self.event.close();
    }

    fn forget(&self) {
        match self.event.file_number() {
            Some(_) => self.event.close(),
            None => self.event.forget(),
        }
    }

    fn file_number(&self) -> Option<i32> {
        self.event.file_number()
    }
}
