//! The events of all threads that are sampled, and the rings that their records go to.
//!
//! An event is of one thread on one processor, and inherited by the threads and processes that the
//! thread begins: an inherited event of all processors could have no ring (perf_event_open(2)). The
//! events of a processor have one ring, however many threads there are.
//!
//! Each thread has one event more than there are sources, which counts nothing and tells what the
//! thread maps and begins. It is opened first, on all processors: so a thread that has inherited
//! any event that counts has told of itself, wherever its parent ran. And it has a
//! [guard](super::guards) before any other.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::os::fd::{AsFd as _, AsRawFd as _, OwnedFd, RawFd};
use std::time::Duration;

use csprof_format::launch::{Detail, KernelEvent, Label, SampleSource, SampleSources};
use nix::libc;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::resource::{Resource, getrlimit, setrlimit};

use super::guards::Guards;
use super::records::{self, REGISTERS};
use super::ring::Ring;
use crate::launch::perf_event::{Attributes, flag, identifier, redirect, switch};

/// `PERF_TYPE_SOFTWARE`, of which `PERF_COUNT_SW_TASK_CLOCK` and `PERF_COUNT_SW_DUMMY`.
const SOFTWARE: u32 = 1;
const TASK_CLOCK: u64 = 1;
const DUMMY: u64 = 9;

/// Bytes of all rings together, as far as the user may lock as much.
const MOST_BYTES: usize = 64 << 20;
/// Bytes of one ring.
const LARGEST: usize = 16 << 20;
const SMALLEST: usize = 128 << 10;
/// Samples that a ring has room for, unless the user may not lock as much.
const LEAST_SAMPLES: usize = 16;

/// File descriptors that no event takes: csprof reads files of the processes, too.
const SPARE_FILES: RawFd = 128;

/// How the callers of a sample are found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unwind {
    /// By call frame information, in a copy of so many bytes of the stack.
    Tables {
        /// A multiple of 8, at most [`MOST_STACK_BYTES`].
        stack_bytes: u32,
    },
    /// By frame pointers, in the kernel.
    FramePointers,
}

/// What a record of the kernel's has room for beside the rest of a sample.
pub const MOST_STACK_BYTES: u32 = 65_280;

/// Events that are open.
#[derive(Debug)]
pub(super) struct Events {
    /// Of the event that tells what a thread maps and begins, and behind it of each source's.
    attributes: Vec<Attributes>,
    /// One for each processor that is there.
    rings: Vec<Processor>,
    /// With the number of its source; none of those that count nothing.
    opened: Vec<(Option<usize>, File)>,
    /// Events have smaller numbers as files.
    most_files: RawFd,
    pub(super) guards: Guards,
    /// The source of each event, by its identifier.
    source_of: HashMap<u64, usize>,
}

#[derive(Debug)]
struct Processor {
    number: i32,
    ring: Ring,
    /// An event that counts nothing, whose ring it is: of csprof's own thread, which lives longer
    /// than any that is sampled.
    owner: OwnedFd,
}

/// The event that a source is, seen from outside; `None` if it is of calls, or of elapsed time.
pub(super) fn event_of(source: &SampleSource) -> Option<KernelEvent> {
    match source.detail {
        Detail::Event(event) => Some(event),
        Detail::None if is_cpu_time(source) => {
            let label = Label::new(source.name())?;
            let config = [TASK_CLOCK, 0, 0];
            let (pmu, kernel, shows_kernel, precise) = (SOFTWARE, true, false, 0);
            Some(KernelEvent { label, pmu, config, kernel, shows_kernel, precise })
        }
        Detail::None | Detail::Label(_) => None,
    }
}

/// Whether a source is the CPU time of a thread.
pub(super) fn is_cpu_time(source: &SampleSource) -> bool {
    use csprof_format::launch::SourceKind::{CpuTime, TaskClock};
    matches!(source.kind, CpuTime | TaskClock)
}

impl Events {
    /// Makes the rings. `with_kernel` says whether what the kernel does for a thread counts as its
    /// CPU time.
    ///
    /// # Errors
    ///
    /// The kernel's.
    pub(super) fn new(
        sources: &SampleSources,
        unwind: Unwind,
        with_kernel: bool,
    ) -> io::Result<Self> {
        let most_files = raise_limit_of_files();
        let mut teller = nothing();
        teller.flags |= flag::INHERIT | flag::MAPPINGS | flag::MAPPED_FILES;
        teller.flags |= flag::NAMES | flag::EXECS | flag::TASKS;
        let mut attributes = vec![sampled(teller, unwind)];
        for source in sources.iter() {
            let Some(mut event) = event_of(&source) else { continue };
            event.kernel &= with_kernel || !is_cpu_time(&source);
            let mut counter = Attributes::of(&event, source.period);
            // Until the thread has all of them: what is not sampled leaves no samples.
            counter.flags |= flag::INHERIT | flag::DISABLED;
            attributes.push(sampled(counter, unwind));
        }
        let rings = rings(unwind)?;
        let guards = Guards::of(&attributes, most_files);
        let (opened, source_of) = (Vec::new(), HashMap::new());
        Ok(Self { attributes, rings, opened, most_files, guards, source_of })
    }

    /// Has a thread sampled, wherever it runs, and what it begins; or not at all.
    ///
    /// # Errors
    ///
    /// The kernel's; ESRCH where it has ended.
    pub(super) fn open(&mut self, thread: u32) -> io::Result<()> {
        self.guards.open(thread)?;
        self.open_counters(thread).inspect_err(|_| self.guards.close(thread))
    }

    fn open_counters(&mut self, thread: u32) -> io::Result<()> {
        let mut opened = Vec::new();
        let mut identifiers = Vec::new();
        for (number, attributes) in self.attributes.iter().enumerate() {
            let source = number.checked_sub(1);
            for processor in &self.rings {
                let event = attributes.open(thread, processor.number)?;
                if event.as_raw_fd() >= self.most_files {
                    return Err(io::Error::from_raw_os_error(libc::EMFILE));
                }
                redirect(&event, &processor.owner)?;
                if let Some(source) = source {
                    identifiers.push((identifier(&event)?, source));
                }
                opened.push((source, File::from(event)));
            }
        }
        for (_, event) in opened.iter().filter(|(source, _)| source.is_some()) {
            switch(event, true)?;
        }
        self.opened.extend(opened);
        self.source_of.extend(identifiers);
        Ok(())
    }

    /// Has nothing counted any more: what was counted is in the rings by then.
    pub(super) fn end(&self) {
        for (_, event) in self.opened.iter().filter(|(source, _)| source.is_some()) {
            // What cannot be ended has ended.
            let _ = switch(event, false);
        }
    }

    /// The number of the source of an event.
    pub(super) fn source_of(&self, identifier: u64) -> Option<usize> {
        self.source_of.get(&identifier).copied()
    }

    /// Waits until there is much to read, `most` at most.
    pub(super) fn wait(&self, most: Duration) {
        let mut files: Vec<PollFd<'_>> = self
            .rings
            .iter()
            .map(|processor| PollFd::new(processor.owner.as_fd(), PollFlags::POLLIN))
            .collect();
        let timeout = PollTimeout::try_from(most).unwrap_or(PollTimeout::MAX);
        // A signal ends it, too.
        let _ = poll(&mut files, timeout);
    }

    /// Appends what the rings have.
    pub(super) fn take(&mut self, records: &mut Vec<u8>) {
        self.rings.iter_mut().for_each(|processor| processor.ring.take(records));
    }

    /// What the events of a source have counted.
    pub(super) fn counted(&self, source: usize) -> u64 {
        let of_source = self.opened.iter().filter(|(of, _)| *of == Some(source));
        let counts = of_source.map(|(_, event)| {
            let mut count = [0; 8];
            let mut event: &File = event;
            event.read_exact(&mut count).map_or(0, |()| u64::from_le_bytes(count))
        });
        counts.sum()
    }
}

/// Why the kernel gives no memory for a ring.
fn why_no_ring(error: &io::Error) -> String {
    match error.raw_os_error() {
        Some(libc::EPERM) => {
            "no more may be locked (sysctl kernel.perf_event_mlock_kb, ulimit -l)".to_owned()
        }
        Some(libc::ENOMEM) => {
            "the machine, or the cgroup of csprof (memory.max), has no more".to_owned()
        }
        _ => error.to_string(),
    }
}

/// The rings of all processors that are in use, as large as the user may lock memory for: all of
/// one size, so that none is left without.
fn rings(unwind: Unwind) -> io::Result<Vec<Processor>> {
    let processors = processors();
    let mut room = first_room(processors.len(), unwind);
    loop {
        let mut rings = Vec::new();
        let refused = processors.iter().find_map(|&number| match ring(number, room, unwind) {
            Ok(ring) => {
                rings.push(ring);
                None
            }
            // Just switched off.
            Err(NoRing::NoEvent(error)) if error.raw_os_error() == Some(libc::ENODEV) => None,
            Err(why) => Some(why),
        });
        match refused {
            None => return Ok(rings),
            Some(NoRing::NoEvent(error)) => return Err(error),
            Some(NoRing::NoMemory(_)) if room > SMALLEST => room /= 2,
            Some(NoRing::NoMemory(error)) => {
                return Err(io::Error::other(format!(
                    "the kernel gives no {} KiB of memory for the records of each of {} \
                     processors: {}",
                    room >> 10,
                    processors.len(),
                    why_no_ring(&error)
                )));
            }
        }
    }
}

/// Bytes of a ring, if as much may be locked: a power of two.
fn first_room(processors: usize, unwind: Unwind) -> usize {
    /// Of a sample beside its stack, at most: a chain of 127 calls.
    const REST: usize = 1 << 10;
    let stack_bytes = match unwind {
        Unwind::Tables { stack_bytes } => stack_bytes as usize,
        Unwind::FramePointers => 0,
    };
    let share = MOST_BYTES / processors.clamp(1, MOST_BYTES);
    let least = (LEAST_SAMPLES * (stack_bytes + REST)).next_power_of_two().max(SMALLEST);
    (1_usize << share.ilog2()).clamp(least, LARGEST)
}

/// Why there is no ring.
enum NoRing {
    NoEvent(io::Error),
    NoMemory(io::Error),
}

fn ring(number: i32, room: usize, unwind: Unwind) -> Result<Processor, NoRing> {
    /// For the kernel, the thread that asks.
    const OWN: u32 = 0;
    let attributes = Attributes { wakeup: room as u32 / 4, ..sampled(nothing(), unwind) };
    let owner = attributes.open(OWN, number).map_err(NoRing::NoEvent)?;
    let ring = Ring::of(&owner, room).map_err(NoRing::NoMemory)?;
    Ok(Processor { number, ring, owner })
}

/// An event that counts nothing.
fn nothing() -> Attributes {
    let flags = flag::EXCLUDE_KERNEL | flag::EXCLUDE_HV;
    Attributes { unit: SOFTWARE, config: [DUMMY, 0, 0], flags, ..Attributes::default() }
}

/// With samples that say when, whose they are, and who called.
fn sampled(attributes: Attributes, unwind: Unwind) -> Attributes {
    let registers = REGISTERS.iter().fold(0, |mask, (number, _)| mask | 1 << number);
    let (parts, registers, stack_bytes) = match unwind {
        Unwind::Tables { stack_bytes } => (records::STACK, registers, stack_bytes),
        Unwind::FramePointers => (records::CHAIN, 0, 0),
    };
    Attributes {
        sample: records::STAMP | parts,
        registers,
        stack_bytes,
        clock: libc::CLOCK_MONOTONIC,
        wakeup: SMALLEST as u32 / 4,
        flags: attributes.flags
            | flag::WATERMARK
            | flag::IDENTIFIED
            | flag::CLOCK
            | flag::NO_KERNEL_FRAMES,
        ..attributes
    }
}

/// Numbers of the processors that are in use.
fn processors() -> Vec<i32> {
    let text = fs::read_to_string("/sys/devices/system/cpu/online").unwrap_or_default();
    let listed = listed(text.trim());
    if listed.is_empty() { vec![0] } else { listed }
}

/// The numbers of `0-3,8`.
fn listed(text: &str) -> Vec<i32> {
    let ranges = text.split(',').filter_map(|range| {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        Some(first.parse().ok()?..=last.parse().ok()?)
    });
    ranges.flatten().collect()
}

/// Has this process open as many files as it may: there is one for each event. How many may be
/// events.
fn raise_limit_of_files() -> RawFd {
    let Ok((soft, most)) = getrlimit(Resource::RLIMIT_NOFILE) else { return RawFd::MAX };
    // With fewer, fewer threads are sampled, which is told.
    let limit = setrlimit(Resource::RLIMIT_NOFILE, most, most).map_or(soft, |()| most);
    let limit = RawFd::try_from(limit).unwrap_or(RawFd::MAX);
    limit - SPARE_FILES.min(limit / 4)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rings_share_what_may_be_locked_and_have_room_for_some_samples() {
        let unwind = Unwind::Tables { stack_bytes: 16 << 10 };
        assert_eq!(first_room(1, unwind), LARGEST);
        assert_eq!(first_room(64, unwind), 1 << 20);
        assert_eq!(first_room(65, unwind), 512 << 10);
        assert_eq!(first_room(4096, unwind), 512 << 10);
        assert_eq!(first_room(4096, Unwind::Tables { stack_bytes: MOST_STACK_BYTES }), 2 << 20);
        assert_eq!(first_room(4096, Unwind::FramePointers), SMALLEST);
    }

    #[test]
    fn ranges_of_processors_are_listed() {
        assert_eq!(listed("0-3,8"), [0, 1, 2, 3, 8]);
        assert_eq!(listed("0"), [0]);
        assert!(listed("").is_empty());
        assert!(!processors().is_empty());
    }
}
