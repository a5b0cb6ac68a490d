//! CPU time of one thread, by the kernel's software event task-clock.
//!
//! A high-resolution timer in the kernel: exact at thousands of samples per second, at 17 µs for
//! each on a virtual machine, or 27 µs where [SIGTRAP](super::loan) is not to be had. The signal
//! says nothing about what it stands for, and a second one is dropped while the first is pending,
//! so the weight is computed from the thread's CPU clock.

use csprof_format::launch::SampleSource;

use super::due::Due;
use super::event_handle::EventHandle;
use super::loan::bit;
use super::posix_timer::spacing;
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
    /// How many there are to be because the thread does not go on, or is [stopped](super::stops).
    wanted: [u64; 2],
    /// Why it could not go on, if it could not.
    refused: Option<PerfError>,
    /// Whether it has ended for that reason, and not been opened again since.
    has_ended: bool,
    /// Periods that passed until it was opened again.
    gone: u64,
}

/// The longest interval of signals for a thread that does [not go on](super::progress): as long as
/// the kernel takes at most to look through the signals that a user may have waiting.
const LONGEST_NS: u64 = 20_000_000;

/// Shortest interval of signals, in nanoseconds: each takes up to 27 µs of the thread's own CPU
/// time, so a thread with a shorter one would do little else. A shorter period has samples that
/// stand for several.
const LEAST_NS: u64 = 50_000;

/// Whether a thread does not go on with so many periods from one signal to the next, where so many
/// are [wanted](TaskClock::wanted). Of a thread that is stopped samples may take an eighth of the
/// elapsed time: where four times the interval is wanted, they take half of it.
const fn is_stuck(before: u64, wanted: [u64; 2]) -> bool {
    wanted[0] > before || wanted[1] >= before.saturating_mul(4)
}

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
        Ok(Self {
            handle,
            due,
            period_ns: signals_ns,
            progress,
            spacing: [1; 2],
            wanted: [1; 2],
            refused: None,
            has_ended: false,
            gone: 0,
        })
    }

    /// Notes the registers that a signal of the event's has found. Signal side.
    pub(super) fn note_progress(&mut self, registers: u64) {
        let now_ns = || sys::now_ns(Clock::ThreadCpu);
        let limits = (self.period_ns, self.most());
        if let Some(spacing) = self.progress.note(registers, limits, now_ns) {
            self.want([spacing, self.wanted[1]]);
        }
    }

    /// At the end of the handler: where the thread perhaps does not go on, looks whether the next
    /// of these signals waits. Signal side.
    pub(super) fn look_for_next(&mut self, signal: i32) {
        if self.progress.is_suspected() {
            let waits = sys::pending() & bit(signal) != 0;
            if let Some(spacing) = self.progress.conclude(waits, self.most()) {
                self.want([spacing, self.wanted[1]]);
            }
        }
    }

    /// There is to be so much CPU time from one signal to the next, or else a period. Signal side.
    pub(super) fn hold(&mut self, interval_ns: u64) {
        self.want([self.wanted[0], spacing(interval_ns, self.period_ns)]);
    }

    fn want(&mut self, wanted: [u64; 2]) {
        self.wanted = wanted;
        self.spacing[1] = wanted[0].max(wanted[1]);
    }

    /// At most so many periods from one signal to the next.
    fn most(&self) -> u64 {
        LONGEST_NS.checked_div(self.period_ns).unwrap_or(1).max(1)
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
    ///
    /// The kernel may refuse it now: no file number or no memory is left, or the program has given
    /// up the right to. Then the thread goes on as before; but one that does not go on at all is
    /// sampled no more. Returns the CPU time from one signal to the next, in nanoseconds, if there
    /// was to be more for a thread that is stopped.
    // Not inlined: within a loop, functions would be called by addresses kept in registers.
    #[cold]
    #[inline(never)]
    pub(super) fn go_on(&mut self) -> Option<u64> {
        let [before, next] = self.spacing;
        let refused = match self.handle.open_anew(next) {
            Ok(()) => {
                self.spacing[0] = next;
                return None;
            }
            Err(refused) => refused,
        };
        if is_stuck(before, self.wanted) {
            self.handle.end();
            self.spacing[0] = next;
            self.refused = Some(refused);
            self.has_ended = true;
            return None;
        }
        self.handle.space(before);
        if next > before {
            self.want([self.wanted[0], before]);
            return Some(before.saturating_mul(self.period_ns));
        }
        // An interval that is longer than this may be is that of a thread that was stopped: what is
        // asked for at each sample, none of which is soon.
        let longest = before.min(self.most());
        self.want([longest, self.wanted[1]]);
        self.progress.stay_at(longest);
        None
    }

    pub(super) const fn refused(&self) -> Option<&PerfError> {
        self.refused.as_ref()
    }

    pub(super) fn handle(&self) -> EventHandle {
        self.handle.clone()
    }

    /// What passed without a sample since the program closed the event's file, or since the event
    /// could not go on; 0 if there is one.
    pub(super) fn lost(&mut self) -> u64 {
        let is_gone = self.has_ended || self.handle.is_lost();
        let until_now = if is_gone { self.due.take() } else { 0 };
        core::mem::take(&mut self.gone) + until_now
    }

    pub(super) fn has_sent(&self, signal: &SignalInfo) -> bool {
        self.handle.has_sent(signal)
    }

    pub(super) fn weight(&mut self) -> u64 {
        // Whoever restarts all sources has opened it again; a last signal may come before.
        if self.has_ended && self.handle.is_open() {
            self.has_ended = false;
            self.gone += self.due.take();
        }
        self.due.take_for_event()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_goes_on_is_sampled_also_where_a_longer_interval_is_refused() {
        assert!(is_stuck(1, [4, 1]) && is_stuck(100, [400, 1]));
        // Stopped at each sample: a quarter of the time, and half.
        assert!(!is_stuck(1, [1, 2]) && !is_stuck(100, [1, 200]));
        assert!(is_stuck(1, [1, 4]) && is_stuck(100, [1, 400]));
        // A shorter one.
        assert!(!is_stuck(100, [1, 25]) && !is_stuck(100, [25, 1]));
    }
}
