//! CPU time of one thread, by the kernel's software event task-clock.
//!
//! A high-resolution timer in the kernel: exact at thousands of samples per second, at 17 µs for
//! each on a virtual machine, or 27 µs where [SIGTRAP](super::loan) is not to be had. The signal
//! says nothing about what it stands for, and a second one is dropped while the first is pending,
//! so the weight is computed from the thread's CPU clock.

use csprof_format::launch::SampleSource;

use super::due::Due;
use super::event_handle::EventHandle;
use super::progress::Progress;
use super::signal_info::{SignalInfo, apart};
use crate::messages::{self, Warning};
use crate::modules;
use crate::sys::{self, Awaited, Clock, PerfError};

/// An event of the calling thread.
#[derive(Debug)]
pub(super) struct TaskClock {
    handle: EventHandle,
    due: Due,
    /// Of its signals, in nanoseconds.
    period_ns: u64,
    progress: Progress,
    /// Periods from one signal to the next, and how many there are to be.
    spacing: [u64; 2],
    /// Why it could not go on, if it could not.
    refused: Option<PerfError>,
}

/// The longest interval of signals for a thread that does [not go on](super::progress): as long as
/// the kernel takes at most to look through the signals that a user may have waiting.
const LONGEST_NS: u64 = 20_000_000;

/// Shortest interval of signals, in nanoseconds: each takes up to 27 µs of the thread's own CPU
/// time, so a thread with a shorter one would do little else. A shorter period has samples that
/// stand for several.
const LEAST_NS: u64 = 50_000;

impl TaskClock {
    /// Opens the event, and starts it.
    pub(super) fn open(
        (number, source): (usize, SampleSource),
        tid: u32,
        cookie: usize,
    ) -> Result<Self, PerfError> {
        let period_ns = source.period;
        if period_ns < LEAST_NS {
            messages::warn_once(
                Warning::ShortPeriod,
                "a thread is sampled every 50 us of its CPU time at most, for a sample takes up to \
                 27 us: each stands for several periods",
            );
        }
        let in_kernel = !modules::executes_unseen();
        if !in_kernel {
            messages::warn_once(
                Warning::UserTimeOnly,
                "time in the kernel is not sampled by task-clock: Go executes programs by system \
                 calls of its own, and a sample that came due in one would end the next program; \
                 cputime samples it",
            );
        }
        let signals_ns = period_ns.max(LEAST_NS);
        let awaited = Awaited::CpuTime { period_ns: signals_ns, in_kernel };
        let handle = EventHandle::new(awaited, tid, cookie, apart(number));
        let due = Due::new(Clock::ThreadCpu, period_ns);
        handle.open()?;
        let progress = Progress::new();
        Ok(Self { handle, due, period_ns: signals_ns, progress, spacing: [1; 2], refused: None })
    }

    /// Notes the registers that a signal has found. Signal side.
    pub(super) fn note_progress(&mut self, registers: u64) {
        let most = LONGEST_NS.checked_div(self.period_ns).unwrap_or(1).max(1);
        let now_ns = || sys::now_ns(Clock::ThreadCpu);
        if let Some(spacing) = self.progress.note(registers, (self.period_ns, most), now_ns) {
            self.spacing[1] = spacing;
        }
    }

    /// Whether the thread was found not to go on.
    pub(super) const fn was_stuck(&self) -> bool {
        self.progress.was_stuck()
    }

    /// Whether it is to be opened anew, with another interval.
    pub(super) fn is_out_of_pace(&self) -> bool {
        self.spacing[0] != self.spacing[1]
    }

    /// Opens it anew. Signal side. One thread at a time, while no other forks.
    pub(super) fn go_on(&mut self) {
        self.spacing[0] = self.spacing[1];
        // The kernel has just had it; but the program may have no file number left.
        self.refused = self.handle.open_anew(self.spacing[0]).err();
    }

    pub(super) const fn refused(&self) -> Option<&PerfError> {
        self.refused.as_ref()
    }

    pub(super) fn handle(&self) -> EventHandle {
        self.handle.clone()
    }

    /// What passed without a sample since the program closed the event's file; 0 if it did not.
    pub(super) fn lost(&mut self) -> u64 {
        if self.handle.is_lost() { self.due.take() } else { 0 }
    }

    pub(super) fn has_sent(&self, signal: &SignalInfo) -> bool {
        self.handle.has_sent(signal)
    }

    pub(super) fn weight(&mut self) -> u64 {
        self.due.take_for_event()
    }
}
