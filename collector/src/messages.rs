//! Messages for the user: kept in the arena's log, printed by `csprof record` at the end.
//!
//! Setup side. The program's own standard error stays its own, except when the collector cannot
//! work at all: then one line is all the user ever gets.

use crate::sys;
use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::String;
use core::sync::atomic::{AtomicU64, Ordering};

use csprof_format::arena::LogRecord;
use csprof_format::launch::{SourceKind, Trigger};

/// What is said once in a process.
#[derive(Clone, Copy, Debug)]
pub enum Warning {
    /// An event is not to be had.
    EventRefused,
    /// A thread is not sampled by one of the sources.
    SourceRefused,
    /// A thread is not sampled for want of memory.
    ThreadRefused,
    /// There were more call sites than entries.
    CallSitesFull,
    /// Memory for unwind recipes was refused.
    RecipesRefused,
    /// Memory to look at what is loaded was refused.
    MemoryLow,
    /// The program has taken a signal of samples.
    SignalTaken,
    /// A thread is not known to the C library.
    ThreadByClone,
    /// Events do not come by SIGTRAP.
    Asynchronous,
    /// A thread is not sampled any more.
    EventNotRestarted,
    /// A period is shorter than samples take.
    ShortPeriod,
    /// Time in the kernel is not sampled.
    UserTimeOnly,
    /// The kernel held an event up.
    Throttled,
    /// The kernel took long to deliver signals.
    SlowSignals,
    /// The program waits for the profiling signal alone.
    WaitForSignal,
    /// The C library's own profiler stays empty.
    Histogram,
    /// There were more phases than are kept apart.
    PhasesFull,
    /// The run has phases of another kind, so those that the program names are not kept.
    PhasesNotKept,
    /// The kernel does not tell when a function is entered.
    BreakpointRefused,
    /// An amount of a resource was too large.
    AmountRefused,
    /// Calls of a library cannot be counted.
    CallsUnseen,
    /// Regions cannot be seen to begin.
    RegionsUnseen,
}

const _: () = assert!((Warning::RegionsUnseen as u32) < u64::BITS);

/// Those that were said, one bit each.
static WARNED: AtomicU64 = AtomicU64::new(0);

/// Notes `text`, unless there was one for this `warning` before.
pub fn warn_once(warning: Warning, text: &str) {
    let bit = 1 << warning as u32;
    if WARNED.fetch_or(bit, Ordering::Relaxed) & bit == 0 {
        note(text);
    }
}

/// Says that the samples of events come by the profiling signal, and `why`.
pub fn note_asynchronous(why: &str) {
    let Some(process) = crate::process::current() else { return };
    let is_event = |kind: SourceKind| kind.properties().trigger == Trigger::Event;
    let mut names = String::new();
    for (_, source) in process.sources().filter(|(_, source)| is_event(source.kind)) {
        let between = if names.is_empty() { "" } else { ", " };
        names = names + between + source.name();
    }
    if names.is_empty() {
        return;
    }
    warn_once(
        Warning::Asynchronous,
        &format!(
            "{names} samples come by SIGPROF, not by SIGTRAP: {why}; they cost half as much \
             again, and some waits two system calls more"
        ),
    );
}

/// Notes `text` in the arena's log.
pub fn note(text: &str) {
    crate::process::log(&LogRecord::Message(text.to_owned()));
}

/// Says on standard error that the collector cannot work here.
pub fn inert(why: &str) {
    let line = format!("csprof: not profiling process {}: {why}\n", sys::pid());
    sys::write_message(line.as_bytes());
}
