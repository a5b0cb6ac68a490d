//! The events of all threads that are sampled, and the rings that their records go to.
//!
//! An event is of one thread on one processor, and inherited by the threads and processes that the
//! thread begins: an inherited event of all processors could have no ring (perf_event_open(2)). The
//! events of a processor have one ring, however many threads there are.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::time::Duration;

use csprof_format::launch::{Detail, KernelEvent, Label, SampleSource, SampleSources};
use nix::libc;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::resource::{Resource, getrlimit, setrlimit};

use super::records::{self, REGISTERS};
use super::ring::Ring;
use crate::launch::perf_event::{Attributes, flag, identifier, redirect};

/// `PERF_TYPE_SOFTWARE`, of which `PERF_COUNT_SW_TASK_CLOCK` and `PERF_COUNT_SW_DUMMY`.
const SOFTWARE: u32 = 1;
const TASK_CLOCK: u64 = 1;
const DUMMY: u64 = 9;

/// Bytes of all rings together, as far as the user may lock as much.
const MOST_BYTES: usize = 64 << 20;
/// Bytes of one ring.
const LARGEST: usize = 16 << 20;
const SMALLEST: usize = 128 << 10;

/// How often to look at rings that wake nobody.
const LOOK_AFTER_END: Duration = Duration::from_millis(20);

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
    attributes: Vec<Attributes>,
    /// One for each processor that is there.
    rings: Vec<Processor>,
    /// With the number of its source.
    opened: Vec<(usize, File)>,
    /// The source of each event, by its identifier.
    source_of: HashMap<u64, usize>,
}

#[derive(Debug)]
struct Processor {
    number: i32,
    ring: Ring,
    /// An event that counts nothing, whose ring it is.
    owner: OwnedFd,
}

/// The event that a source is, seen from outside; `None` if it is of calls, or of elapsed time.
pub(super) fn event_of(source: &SampleSource) -> Option<KernelEvent> {
    match source.detail {
        Detail::Event(event) => Some(event),
        Detail::None if is_cpu_time(source) => {
            let label = Label::new(source.name())?;
            let config = [TASK_CLOCK, 0, 0];
            Some(KernelEvent { label, pmu: SOFTWARE, config, kernel: true, precise: 0 })
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
    /// Makes the rings, which a process has that is sampled. `with_kernel` says whether what the
    /// kernel does for it counts as its CPU time.
    ///
    /// # Errors
    ///
    /// The kernel's.
    pub(super) fn new(
        sources: &SampleSources,
        unwind: Unwind,
        process: u32,
        with_kernel: bool,
    ) -> io::Result<Self> {
        raise_limit_of_files();
        let mut attributes = Vec::new();
        for source in sources.iter() {
            let Some(mut event) = event_of(&source) else { continue };
            event.kernel &= with_kernel || !is_cpu_time(&source);
            let mut attributes_of = sampled(Attributes::of(&event, source.period), unwind);
            if attributes.is_empty() {
                // One event of each thread tells what it maps and begins.
                attributes_of.flags |= flag::MAPPINGS | flag::MAPPED_FILES;
                attributes_of.flags |= flag::NAMES | flag::EXECS | flag::TASKS;
            }
            attributes.push(attributes_of);
        }
        let processors = processors();
        let share = MOST_BYTES / processors.len().max(1);
        let room = (share.next_power_of_two() / 2).clamp(SMALLEST, LARGEST);
        let mut rings = Vec::new();
        for number in processors {
            match Processor::new(number, process, unwind, room) {
                Ok(processor) => rings.push(processor),
                // Just switched off.
                Err(error) if error.raw_os_error() == Some(libc::ENODEV) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(Self { attributes, rings, opened: Vec::new(), source_of: HashMap::new() })
    }

    /// Has a thread sampled, wherever it runs, and what it begins; or not at all.
    ///
    /// # Errors
    ///
    /// The kernel's; ESRCH where it has ended.
    pub(super) fn open(&mut self, thread: u32) -> io::Result<()> {
        let mut opened = Vec::new();
        let mut identifiers = Vec::new();
        for processor in &self.rings {
            for (source, attributes) in self.attributes.iter().enumerate() {
                let event = attributes.open(thread, processor.number)?;
                redirect(&event, &processor.owner)?;
                identifiers.push((identifier(&event)?, source));
                opened.push((source, File::from(event)));
            }
        }
        self.opened.extend(opened);
        self.source_of.extend(identifiers);
        Ok(())
    }

    /// The number of the source of an event.
    pub(super) fn source_of(&self, identifier: u64) -> Option<usize> {
        self.source_of.get(&identifier).copied()
    }

    /// Waits until there is much to read, `most` at most.
    pub(super) fn wait(&self, most: Duration) {
        // The thread of a ring's event may have ended, which would end all waits at once.
        let is_waited_for = |processor: &&Processor| !processor.has_hung_up();
        let waiting: Vec<&Processor> = self.rings.iter().filter(is_waited_for).collect();
        if waiting.len() < self.rings.len() {
            return std::thread::sleep(most.min(LOOK_AFTER_END));
        }
        let mut files: Vec<PollFd<'_>> = waiting
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
        let of_source = self.opened.iter().filter(|(of, _)| *of == source);
        let counts = of_source.map(|(_, event)| {
            let mut count = [0; 8];
            let mut event: &File = event;
            event.read_exact(&mut count).map_or(0, |()| u64::from_le_bytes(count))
        });
        counts.sum()
    }
}

impl Processor {
    fn new(number: i32, process: u32, unwind: Unwind, room: usize) -> io::Result<Self> {
        let mut attributes = Attributes { unit: SOFTWARE, ..Attributes::default() };
        attributes.config[0] = DUMMY;
        attributes.flags = flag::EXCLUDE_KERNEL | flag::EXCLUDE_HV;
        let attributes = sampled(attributes, unwind);
        let mut room = room;
        loop {
            let attributes = Attributes { wakeup: room as u32 / 4, ..attributes };
            let owner = attributes.open(process, number)?;
            match Ring::of(&owner, room) {
                Ok(ring) => return Ok(Self { number, ring, owner }),
                Err(_) if room > SMALLEST => room /= 2,
                Err(error) => {
                    return Err(io::Error::other(format!(
                        "the kernel has no {} KiB of locked memory for records (ulimit -l): {error}",
                        room >> 10
                    )));
                }
            }
        }
    }

    fn has_hung_up(&self) -> bool {
        let mut file = [PollFd::new(self.owner.as_fd(), PollFlags::empty())];
        poll(&mut file, PollTimeout::ZERO).is_ok() && file[0].any() == Some(true)
    }
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
            | flag::INHERIT
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

/// Has this process open as many files as it may: there is one for each event.
fn raise_limit_of_files() {
    if let Ok((_, most)) = getrlimit(Resource::RLIMIT_NOFILE) {
        // With fewer, fewer threads are sampled, which is told.
        let _ = setrlimit(Resource::RLIMIT_NOFILE, most, most);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_of_processors_are_listed() {
        assert_eq!(listed("0-3,8"), [0, 1, 2, 3, 8]);
        assert_eq!(listed("0"), [0]);
        assert!(listed("").is_empty());
        assert!(!processors().is_empty());
    }
}
