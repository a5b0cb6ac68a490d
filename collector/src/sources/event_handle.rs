//! Events of which only the signal matters: CPU time, and entries of functions. They come by
//! SIGTRAP where that is on [loan], else by [`SIGNAL`].

use alloc::sync::Arc;

use super::kernel_event::not_any_more;
use super::loan;
use super::object::Object;
use super::signal_info::{SIGNAL, SignalInfo};
use crate::messages::{self, Warning};
use crate::phases::functions;
use crate::sys::{Awaited, Delivery, Errno, PerfError, PerfSignal};

/// An event and what comes back in its SIGTRAP.
#[derive(Clone, Debug)]
pub struct EventHandle {
    event: Arc<PerfSignal>,
    cookie: u64,
}

impl EventHandle {
    /// An event of thread `tid`, not open yet. `apart` tells it from others of the same thread.
    pub(super) fn new(awaited: Awaited, tid: u32, cookie: usize, apart: usize) -> Self {
        let event = Arc::new(PerfSignal::new(awaited, SIGNAL, tid, apart));
        Self { event, cookie: cookie as u64 }
    }

    /// Opens and starts the event, by SIGTRAP if that is on loan.
    pub(super) fn open(&self) -> Result<(), PerfError> {
        let by_trap = match loan::on_loan() {
            true => self.event.open(Delivery::Synchronous(self.cookie)).is_ok(),
            false => false,
        };
        if by_trap { Ok(()) } else { self.event.open(Delivery::Asynchronous) }
    }

    /// Opens it anew, with so many periods of CPU time from one signal to the next. If that is
    /// refused, the event stays as it is. Signal side.
    pub(super) fn open_anew(&self, spacing: u64) -> Result<(), PerfError> {
        self.space(spacing);
        let before = self.event.take();
        match self.open() {
            Ok(()) => before.close(),
            Err(refused) => {
                self.event.put_back(before);
                return Err(refused);
            }
        }
        Ok(())
    }

    /// From its next opening on, there are so many periods.
    pub(super) fn space(&self, periods: u64) {
        self.event.space(periods);
    }

    /// Whether there is an event, as far as csprof knows.
    pub(super) fn is_open(&self) -> bool {
        self.event.number() >= 0
    }

    /// Whether the signal is this event's. Signal side.
    pub(super) fn has_sent(&self, signal: &SignalInfo) -> bool {
        if signal.signo == loan::TRAP {
            signal.code == loan::TRAP_PERF && signal.value == self.cookie
        } else {
            // F_SETSIG fills si_code with the band's POLL_ code and si_fd with the file (fcntl(2)).
            signal.code > 0 && signal.value as i32 == self.event.number()
        }
    }

    /// Whether the program has closed the event's file.
    pub(super) fn is_lost(&self) -> bool {
        self.event.is_lost()
    }

    /// Closes the event. Signal side, too.
    pub(super) fn end(&self) {
        self.event.close();
    }

    /// Whether the event is of code that a thread comes to.
    pub(super) fn is_of_code(&self) -> bool {
        matches!(self.event.awaited(), Awaited::Code(_))
    }
}

impl Object for EventHandle {
    fn start(&self) {
        self.event.close();
        match (self.open(), self.event.awaited()) {
            // A thread that has ended by a system call of its own is still registered.
            (Ok(()) | Err(PerfError(Errno(libc::ESRCH))), _) => {}
            // It may be the first time: libraries are loaded later.
            (Err(refused), Awaited::Code(place)) => functions::refused(place, &refused),
            (Err(refused), Awaited::CpuTime { .. }) => {
                messages::warn_once(Warning::EventNotRestarted, &not_any_more(&refused));
            }
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
