//! The process's part in the run: inert or sampled. What makes it so is the
//! module `lifecycle`.
//!
//! One [`Process`] per process of the run; a forked child makes its own. The state is reached
//! through one pointer: null means inert, and every wrapper then does nothing but pass its call on.

#![expect(unsafe_code, reason = "one global pointer to the process's state")]

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, Ordering};

use csprof_format::arena::LogRecord;
use csprof_format::launch::{
    Detail, MAX_SOURCES, Properties, SampleSource, SampleSources, SourceKind, Trigger,
};

use crate::arch::PAGE_SIZE;
use crate::arena::{Arena, LogExtent, Room};
use crate::config::Config;
use crate::sealed::sealed;
use crate::setup_lock::SetupLock;
use crate::sys::{self, Clock, File, Folder};

/// State of a profiled process.
pub struct Process {
    /// What was asked for.
    pub config: Config,
    /// Where all arenas of the run are.
    pub folder: &'static Folder,
    /// Whose state this is: a vfork child finds its parent's.
    pid: u32,
    /// Where counts go.
    pub arena: &'static Arena,
    /// Whether return addresses are replaced.
    pub trampoline: bool,
    log: SetupLock<Option<LogExtent>>,
    /// The sources in use, by number of their metric: kind plus one in the top byte, period below;
    /// 0 where there is none, any more.
    sources: [AtomicU64; MAX_SOURCES],
    /// How many were asked for, which come first.
    source_count: usize,
    /// Those of them that are context switches, a bit for each metric.
    switch_metrics: u32,
}

/// What belongs to this very process, in a page of its own that a fork wipes (madvise(2),
/// MADV_WIPEONFORK): the child finds zeros, however it was made, and so is inert. Otherwise one of
/// a fork behind the C library's back would take its parent's timers, events and shared memory for
/// its own, and end them.
#[repr(C, align(4096))]
#[derive(Debug)]
pub struct OfThisProcess {
    /// Whether the wrappers have anything to do. First, because the assembly of the stubs reads it
    /// by the static's address.
    pub engaged: AtomicBool,
    process: AtomicPtr<Process>,
    rest: [u8; PAGE_SIZE - 16],
}

const _: () = assert!(size_of::<OfThisProcess>() == PAGE_SIZE);

/// The page.
pub static OF_THIS_PROCESS: OfThisProcess = OfThisProcess {
    engaged: AtomicBool::new(false),
    process: AtomicPtr::new(core::ptr::null_mut()),
    rest: [0; _],
};

/// The state that this process began with: its own, or in the child of a fork its parent's.
static BEGAN_WITH: AtomicPtr<Process> = AtomicPtr::new(core::ptr::null_mut());

/// The state, if csprof launched this program. Either side.
#[inline]
pub fn current() -> Option<&'static Process> {
    // Acquire: pairs with the release in `enter`. Never freed, so 'static.
    // SAFETY: null or a leaked box.
    unsafe { OF_THIS_PROCESS.process.load(Ordering::Acquire).as_ref() }
}

/// The state, or in the child of a fork by hand, which has none, its parent's. Only its counters
/// may be touched, which are in shared memory, and what never changes.
pub fn nearest() -> Option<&'static Process> {
    // Acquire: as above.
    // SAFETY: null or a leaked box.
    unsafe { BEGAN_WITH.load(Ordering::Acquire).as_ref() }
}

/// Makes the process inert.
pub fn leave() {
    OF_THIS_PROCESS.process.store(core::ptr::null_mut(), Ordering::Release);
}

/// Whether this very process is profiled: not inert, not sealed, and not a vfork child running on
/// its parent's memory.
#[must_use]
pub fn active() -> bool {
    !sealed() && is_of_this_process()
}

/// Whether the state is of this very process, sealed or not: not of a parent on whose memory it
/// runs.
#[must_use]
pub fn is_of_this_process() -> bool {
    current().is_some_and(|process| process.pid == sys::pid())
}

/// Makes the process one that is sampled, with an arena of its own.
pub fn enter(
    config: Config,
    folder: &'static Folder,
    trampoline: bool,
    forked: bool,
) -> Result<(), sys::Errno> {
    let Config { sources, memory, times, leave, .. } = config;
    let create = |folder, leave, is_last| {
        let room = Room { most: memory, times, leave, is_last };
        Arena::create(folder, sources, trampoline, forked, room)
    };
    let arena = create(folder, leave[0], config.spill_dir.is_none()).or_else(|refused| {
        let spill = config.spill_dir.as_ref().filter(|_| refused.0 == libc::ENOSPC);
        let spill = spill.ok_or(refused)?;
        create(Box::leak(Box::new(Folder::at(spill.clone()))), leave[1], true)
    })?;
    let process = Process {
        folder,
        pid: sys::pid(),
        sources: packed(config.sources),
        source_count: config.sources.iter().count(),
        switch_metrics: switch_metrics(config.sources),
        config,
        arena: Box::leak(Box::new(arena)),
        trampoline,
        log: SetupLock::new(None),
    };
    // Release: pairs with the acquire in `current`.
    let process = Box::into_raw(Box::new(process));
    BEGAN_WITH.store(process, Ordering::Release);
    OF_THIS_PROCESS.process.store(process, Ordering::Release);
    Ok(())
}

const KIND_SHIFT: u32 = 56;

const fn pack(source: SampleSource) -> u64 {
    (source.kind as u64 + 1) << KIND_SHIFT | source.period
}

fn kind_of(packed: u64) -> Option<SourceKind> {
    SourceKind::from_index(((packed >> KIND_SHIFT) as u32).checked_sub(1)?)
}

fn packed(sources: SampleSources) -> [AtomicU64; MAX_SOURCES] {
    core::array::from_fn(|number| AtomicU64::new(sources.get(number).map_or(0, pack)))
}

fn switch_metrics(sources: SampleSources) -> u32 {
    let is_switch = |source: &SampleSource| match source.detail {
        Detail::Event(event) => event.is_switch(),
        Detail::None | Detail::Label(_) => false,
    };
    let bits =
        (0..).zip(sources.iter()).map(|(number, source)| u32::from(is_switch(&source)) << number);
    bits.fold(0, |all, bit| all | bit)
}

const _: () = assert!(MAX_SOURCES <= u32::BITS as usize);

impl Process {
    /// Whether there are samples of context switches.
    #[must_use]
    pub const fn samples_any_switches(&self) -> bool {
        self.switch_metrics != 0
    }

    /// Whether the samples of this metric are context switches. Either side.
    #[must_use]
    #[inline]
    pub const fn samples_switches(&self, metric: usize) -> bool {
        metric < MAX_SOURCES && self.switch_metrics >> metric & 1 == 1
    }

    /// What the source in use with this number is, and its period. Signal side: without a copy of
    /// its detail, for which the stack of handlers has no room.
    #[must_use]
    #[inline]
    pub fn kind_and_period(&self, number: usize) -> Option<(SourceKind, u64)> {
        let packed = self.sources.get(number)?.load(Ordering::Relaxed);
        Some((kind_of(packed)?, packed & ((1 << KIND_SHIFT) - 1)))
    }

    /// The source in use with this number. Setup side.
    #[must_use]
    #[inline]
    pub fn source(&self, number: usize) -> Option<SampleSource> {
        let (kind, period) = self.kind_and_period(number)?;
        // What it fell back to has none.
        let asked = self.config.sources.get(number).filter(|asked| asked.kind == kind);
        Some(SampleSource { kind, period, detail: asked.map_or(Detail::None, |of| of.detail) })
    }

    /// Whether this was the number of the run's folder or of the arena, and is none any more: the
    /// program has closed it by a system call of its own, or this thread has files of its own.
    #[must_use]
    pub fn has_lost(&self, number: i32) -> bool {
        let is_lost = |file: &File| file.number() == number && !file.is_open();
        is_lost(self.folder.file()) || is_lost(self.arena.file())
    }

    /// Whether one is in use that is like this.
    #[must_use]
    pub fn uses(&self, is_like: impl Fn(&Properties) -> bool) -> bool {
        let mut known = (0..self.source_count).filter_map(|number| self.kind_and_period(number));
        known.any(|(kind, _)| is_like(kind.properties()))
    }

    /// Whether threads have events: those of sources, or of functions that begin phases. They send
    /// SIGTRAP where that is on loan, else the profiling signal. Either side.
    #[must_use]
    pub fn uses_events(&self) -> bool {
        let is_event = |source: &Properties| source.trigger == Trigger::Event;
        !self.config.phase_functions.is_empty() || self.uses(is_event)
    }

    /// The sources in use, with their numbers.
    pub fn sources(&self) -> impl Iterator<Item = (usize, SampleSource)> {
        (0..self.source_count).filter_map(|number| Some((number, self.source(number)?)))
    }

    /// Has a source that the kernel refuses fall back to what is sampled instead, for this thread
    /// and all later ones; `None`, and it is dropped, if that is sampled anyway.
    pub fn fall_back(&self, number: usize) -> Option<SampleSource> {
        let refused = self.source(number)?;
        // Without one, another thread was first.
        let Some(kind) = refused.kind.properties().instead else { return Some(refused) };
        let is_used = self.sources().any(|(_, source)| source.kind == kind);
        let instead = SampleSource::of(kind).every(refused.period);
        let instead = (!is_used).then_some(instead);
        self.sources[number].store(instead.map_or(0, pack), Ordering::Relaxed);
        self.arena.set_source(number, instead.map(|source| source.kind));
        instead
    }

    /// In a forked child that has a state of its own: lets go of its parent's arena and log.
    pub fn leave_to_child(&self) {
        // Its log may be locked by a thread that is not here.
        if let Some(mut log) = self.log.lock_within(0) {
            drop(log.take());
        }
        self.arena.leave();
    }
}

/// Appends a record to the arena's log; without effect when inert.
pub fn log(record: &LogRecord) {
    let Some(process) = current() else { return };
    let mut bytes = Vec::new();
    record.encode(sys::now_ns(Clock::Monotonic), &mut bytes);
    let mut log = process.log.lock();
    if log.as_mut().is_none_or(|extent| !extent.append(&bytes)) {
        *log = process.arena.log_extent(bytes.len()).ok();
        if let Some(extent) = log.as_mut() {
            extent.append(&bytes);
        }
    }
}
