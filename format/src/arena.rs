//! The live arena: what the collector writes into shared memory while the program runs.
//!
//! One file per process. A header page is followed by *extents*: page-aligned pieces, allocated
//! by adding to [`ArenaHeader::used`] and backed by `fallocate` before they are mapped, so that a
//! full disk is an error code and never a SIGBUS. Records are only ever appended, and counters
//! have one writer each, so the file can be read at any moment: while it grows, and after the
//! process was killed.
//!
//! ```text
//! 0x0000  ArenaHeader (one page)
//! 0x1000  Extent: Log      | ExtentHeader | LogRecord LogRecord …
//! 0x….    Extent: Thread   | ExtentHeader | ThreadRecord | Node Node … (segment 0)
//! 0x….    Extent: Nodes    | ExtentHeader | Node Node …               (segment k > 0)
//! 0x….    Extent: Times    | ExtentHeader | TimeRecord TimeRecord …   (only if asked for)
//! 0x….    Extent: Blocks   | ExtentHeader | BlockRecord BlockRecord … (with `leak`, `phase-leak`)
//! 0x….    Extent: Entries  | ExtentHeader | EntryRecord EntryRecord … (only with `--phase-at`)
//! ```
//!
//! The nodes of a thread are numbered from 0 across its segments, as [`locate`] has it.
//! Publication: a writer fills a record, then raises the extent's `committed` (or the thread's
//! `node_count`) with a release store; a reader loads that with acquire and looks no further. In a
//! file left by a dead process everything is visible.
//!
//! All numbers are little-endian; x86-64 is. The structures are laid out without padding.

mod log;

pub use self::log::{
    LoadRecord, LogRecord, LogRecordHeader, MOST_PHASES, PHASE_NAME, TAIL, epoch_reason,
};
use crate::address::FrameKey;
use crate::launch::{Detail, KernelEvent, LABEL_BYTES, MAX_SOURCES, SampleSource};
use crate::loss::{LossReason, PartialReason};

/// First bytes of an arena: the high bit and the line ends show damage by text transfer.
pub const ARENA_MAGIC: [u8; 8] = *b"\x89CSPA\r\n\x1a";
/// Version of this layout. An arena is read by the csprof that wrote it, so there is no minor.
pub const ARENA_VERSION: u32 = 15;
/// First four bytes of each extent.
pub const EXTENT_MAGIC: u32 = u32::from_le_bytes(*b"XTNT");
/// Alignment of extents, in bytes.
pub const EXTENT_ALIGN: u64 = 4096;
/// Nodes in each of the first four segments of a thread; of the next four, twice as many, and so
/// on: a tree never holds more than a quarter of the memory that it needs in reserve.
pub const FIRST_SEGMENT_NODES: u32 = 256;
/// Segments of one size.
const SEGMENTS_OF_A_SIZE: u32 = 4;
/// Most segments of one thread, hence about 2^30 nodes.
pub const MAX_SEGMENTS: usize = 80;
/// Room for reasons in fixed-size records; more than there are, so that adding one moves nothing.
pub const REASON_SLOTS: usize = 16;
/// Ending of arena files in the run folder.
pub const ARENA_SUFFIX: &str = ".arena";
/// Ending of the copy of a process's perf map beside its arena, whose name it has otherwise.
pub const PERF_MAP_SUFFIX: &str = ".map";

const _: () = assert!(LossReason::COUNT <= REASON_SLOTS && PartialReason::COUNT <= REASON_SLOTS);
const _: () = assert!(MAX_SOURCES <= FrameKey::METRICS);

/// The first page of an arena.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct ArenaHeader {
    /// [`ARENA_MAGIC`], written last.
    pub magic: [u8; 8],
    /// [`ARENA_VERSION`].
    pub version: u32,
    /// Process id.
    pub pid: u32,
    /// Parent's process id when the arena was made.
    pub parent_pid: u32,
    /// 0 for a program started by exec, 1 for a forked child.
    pub forked: u32,
    /// Number of sources that were asked for.
    pub source_count: u32,
    /// Bit 0: the trampoline is on. See `FLAG_*`.
    pub flags: u32,
    /// `CLOCK_REALTIME` when the arena was made, in nanoseconds.
    pub start_unix_ns: u64,
    /// `CLOCK_MONOTONIC` at the same moment; all other times in the arena are of this clock.
    pub start_ns: u64,
    /// `CLOCK_MONOTONIC` at an orderly end or at exec; 0 while running or after a kill.
    pub end_ns: u64,
    /// Bytes handed out, this page included; the next extent begins here. Atomic.
    pub used: u64,
    /// Number of records of threads. Atomic.
    pub threads: u32,
    /// MPI or job rank plus one; 0 if there is none.
    pub rank_plus_one: u32,
    /// Samples that arrived where no thread could own them, by `LossReason`. Atomic.
    pub losses: [u64; REASON_SLOTS],
    /// Profiling signals from elsewhere (`kill -PROF`), for which the program has no handler; not
    /// samples.
    pub foreign_signals: u64,
    /// Processes that this one started and that are not in the run, by [`LeftOut`]. Atomic.
    pub left_out: [u32; LEFT_OUT_SLOTS],
    /// What the first program of each reason is called, cut off where it is longer; padded with
    /// zeros, which is all there is where nobody knows.
    pub left_out_names: [[u8; LEFT_OUT_NAME]; LEFT_OUT_SLOTS],
    /// CPU time of the process when sampling began, in nanoseconds: loading, and what csprof
    /// needed.
    pub cpu_before_ns: u64,
    /// CPU time of the process, all its threads together, when it was last noted.
    pub cpu_ns: u64,
    /// Threads that could not be sampled: memory or a timer was refused, or clone(2) made them
    /// behind the C library's back. Atomic.
    pub unsampled_threads: u64,
    /// Bytes of unwind tables, csprof's own and copies, and of what is kept about modules.
    pub table_bytes: u64,
    /// Bytes of the collector's own memory outside the arena: heap, with the tables, and buffers.
    pub private_bytes: u64,
    /// Bytes of extents that were given back: nodes that a thread had in reserve when it ended.
    /// Atomic.
    pub returned: u64,
    /// The sources, by number of their metric.
    pub sources: [SourceRecord; MAX_SOURCES],
    /// Ranks of the job; 0 if that is not known.
    pub ranks: u32,
    /// Of these, those on this node; 0 if that is not known.
    pub local_ranks: u32,
}

/// A sample source of the process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct SourceRecord {
    /// Its period, in its unit.
    pub period: u64,
    /// Number of the [`SourceKind`](crate::launch::SourceKind) in use, after any fallback.
    pub kind: u32,
    /// 1 if the kernel refused it, and what it would fall back to is another of the sources.
    pub dropped: u32,
    /// Its [`Label`](crate::launch::Label), padded with zeros; all zeros if its kind has none.
    pub label: [u8; LABEL_BYTES],
    /// Of an event, how long threads had it in all, in nanoseconds. Atomic.
    pub enabled_ns: u64,
    /// Of that, how long the processor counted it: less where events take turns. Atomic.
    pub running_ns: u64,
}

impl SourceRecord {
    /// Where there is no source.
    pub const NONE: Self = Self {
        period: 0,
        kind: 0,
        dropped: 0,
        label: [0; LABEL_BYTES],
        enabled_ns: 0,
        running_ns: 0,
    };

    /// That of a source which is in use.
    #[must_use]
    pub fn of(source: SampleSource) -> Self {
        let label = match source.detail {
            Detail::None => [0; LABEL_BYTES],
            Detail::Label(label) | Detail::Event(KernelEvent { label, .. }) => *label.bytes(),
        };
        Self { period: source.period, kind: source.kind as u32, label, ..Self::NONE }
    }
}

/// [`ArenaHeader::flags`]: return addresses are replaced, so edge counts exist.
pub const FLAG_TRAMPOLINE: u32 = 1;
/// [`ArenaHeader::flags`]: the process went through exec; another arena continues its story.
pub const FLAG_EXECED: u32 = 2;

/// [`ArenaHeader::flags`]: the times of samples are kept, as far as there is room.
pub const FLAG_TIMES: u32 = 4;
/// [`ArenaHeader::flags`]: the file is locked (flock(2)) while a process has it mapped.
pub const FLAG_LOCKED: u32 = 8;
/// [`ArenaHeader::flags`]: threads were interrupted by elapsed time less often than was asked for.
pub const FLAG_PACED: u32 = 16;
/// [`ArenaHeader::flags`]: threads were sampled less often than was asked for, because they stopped
/// at each sample for a tracer.
pub const FLAG_STOPPED: u32 = 32;
/// [`ArenaHeader::flags`]: where in the kernel an event was counted is not known of all samples
/// that were to say so.
pub const FLAG_PLACELESS: u32 = 64;

const _: () = assert!(size_of::<ArenaHeader>() == 1744);

/// Room for reasons in [`ArenaHeader::left_out`].
pub const LEFT_OUT_SLOTS: usize = 10;
/// Room for the name of a program in [`ArenaHeader::left_out_names`], in bytes.
pub const LEFT_OUT_NAME: usize = 16;

/// Why a process has no arena.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum LeftOut {
    /// Forked, and an arena of its own was refused.
    Refused = 0,
    /// Executed with an environment that does not have csprof's variables.
    Environment = 1,
    /// Executed or forked where the collector or the run folder cannot be reached.
    OutOfReach = 2,
    /// Built for another machine, or with 32-bit pointers.
    Machine = 3,
    /// Statically linked.
    Static = 4,
    /// Started by another loader than glibc's, musl's for one.
    Loader = 5,
    /// A program that runs another one inside: an emulator, or a tool of valgrind's.
    Guest = 6,
    /// Forked by a raw system call, behind the C library's back.
    ByHand = 7,
    /// Executed under a limit of memory that leaves little room for the collector.
    Limited = 8,
}

impl LeftOut {
    /// All reasons, in the order of their numbers.
    pub const ALL: [Self; 9] = [
        Self::Refused,
        Self::Environment,
        Self::OutOfReach,
        Self::Machine,
        Self::Static,
        Self::Loader,
        Self::Guest,
        Self::ByHand,
        Self::Limited,
    ];

    /// What happened to processes of this kind, after their number.
    #[must_use]
    pub const fn explanation(self) -> &'static str {
        match self {
            Self::Refused => {
                "made by fork, not in this profile: shared memory for it was refused (a limit of \
                 files, file size or memory, or a full /dev/shm)"
            }
            Self::Environment => {
                "started, not in this profile: csprof was not in the environment (LD_PRELOAD, or all of its variables)"
            }
            Self::OutOfReach => {
                "started, not in this profile: csprof's files cannot be reached from where it was \
                 (chroot, mounts of its own, landlock, or missing rights), unless /dev/shm and \
                 csprof's folder in /var/tmp can be read there, too"
            }
            Self::Machine => {
                "started, not in this profile, nor what it started: built for another machine than \
                 x86-64"
            }
            Self::Static => {
                "started, not in this profile: statically linked, so no loader runs that could load \
                 the collector"
            }
            Self::Loader => {
                "started, not in this profile, nor what it started: its loader is not glibc's (musl \
                 has one of its own)"
            }
            Self::Guest => {
                "started, not in this profile, nor what it started: it runs another program inside, \
                 which would get the collector (qemu-user), or checks threads (valgrind)"
            }
            Self::ByHand => {
                "made by a raw system call, not in this profile: the C library was not told of the \
                 fork; programs that it executed are in it"
            }
            Self::Limited => {
                "started, not in this profile, nor what it started: a limit of memory leaves little \
                 room for the collector (ulimit -v below 64 MiB, or ulimit -d below 16 MiB)"
            }
        }
    }
}

/// What arenas without a first page tell, after their number.
pub const LEFT_NO_SAMPLES: &str = "left no samples: they ended at once, or shared memory was refused (a \
                                   full /dev/shm, or a limit)";

/// What an extent holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum ExtentKind {
    /// Log records: modules, epochs, messages.
    Log = 1,
    /// A thread record and the first segment of its nodes.
    Thread = 2,
    /// A further segment of a thread's nodes.
    Nodes = 3,
    /// When samples of a thread were taken.
    Times = 4,
    /// Sampled blocks of the program's heap that it has not given back.
    Blocks = 5,
    /// Entries of functions that begin phases.
    Entries = 6,
}

impl ExtentKind {
    /// The kind with this number, if there is one.
    #[must_use]
    pub const fn from_u32(value: u32) -> Option<Self> {
        Some(match value {
            1 => Self::Log,
            2 => Self::Thread,
            3 => Self::Nodes,
            4 => Self::Times,
            5 => Self::Blocks,
            6 => Self::Entries,
            _ => return None,
        })
    }
}

/// The first bytes of an extent.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct ExtentHeader {
    /// [`EXTENT_MAGIC`], written last.
    pub magic: u32,
    /// An [`ExtentKind`].
    pub kind: u32,
    /// Bytes in the extent, this header included; a multiple of [`EXTENT_ALIGN`].
    pub size: u64,
    /// Thread index, for the kinds that are a thread's.
    pub owner: u32,
    /// Segment number, for nodes and blocks; for times, which of the thread's extents of them it
    /// is, from 0.
    pub segment: u32,
    /// Payload bytes that are valid, for [`ExtentKind::Log`] and [`ExtentKind::Times`]. Atomic.
    pub committed: u64,
}

const _: () = assert!(size_of::<ExtentHeader>() == 32);

/// An entry of a function that begins phases: the phase whose number is that of the record, from 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct EntryRecord {
    /// `CLOCK_MONOTONIC` at the entry, written last; 0 if there was none.
    pub time_ns: u64,
    /// Number of the [function](LogRecord::PhaseFunction).
    pub function: u32,
    /// The how-many-eth entry of the function it was in the process, or before its fork.
    pub count: u32,
}

const _: () = assert!(size_of::<EntryRecord>() == 16);

/// The counters of one thread, or of several that ran one after the other: each wrote them while it
/// ran, and nobody else. Counts are those of all together.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct ThreadRecord {
    /// Thread id; of several, the last one's.
    pub tid: u32,
    /// Index of the record in its process, from 0.
    pub index: u32,
    /// Name as the kernel knows it, padded with zeros; of several, the last that was noted.
    pub name: [u8; 16],
    /// `CLOCK_MONOTONIC` at the start of sampling; of several, the first one's.
    pub start_ns: u64,
    /// `CLOCK_MONOTONIC` at the thread's end; 0 while it runs, and where that is not known. Of
    /// several, the last one's.
    pub end_ns: u64,
    /// CPU time of the thread when it was last noted, at the start of sampling, at a sample or at
    /// its end, in nanoseconds; of several, the sum.
    pub cpu_ns: u64,
    /// Nodes published. Atomic.
    pub node_count: u32,
    /// Greatest depth of a recorded path, in frames.
    pub max_depth: u32,
    /// Profiling signals handled.
    pub signals: u64,
    /// Samples delivered: signals weighted by the periods each stands for.
    pub delivered: u64,
    /// Samples added to nodes.
    pub recorded: u64,
    /// Returns seen by the trampoline.
    pub returns: u64,
    /// Sampled activations that left without a return.
    pub lost_returns: u64,
    /// Frames stepped over by the unwinder.
    pub frames_unwound: u64,
    /// Samples in which a known part of the path was reused.
    pub reused_paths: u64,
    /// Samples not recorded, by `LossReason`.
    pub losses: [u64; REASON_SLOTS],
    /// Recorded samples with a partial path, by `PartialReason`.
    pub partial: [u64; REASON_SLOTS],
    /// CPU time of the thread when sampling began, in nanoseconds; of several, the sum.
    pub cpu_before_ns: u64,
    /// Threads that had the record before this one, and have ended.
    pub earlier: u64,
    /// Time in which none had it, from the end of one to the start of the next, in nanoseconds; an
    /// end that is not known is the next one's start.
    pub apart_ns: u64,
    /// Recorded or lost samples that came long after they were due, see [`LATE_NS`].
    pub late: u64,
    /// What of `signals`, `delivered`, `recorded` and `partial` further sources have, from number 1
    /// on. The rest is the first one's.
    pub further: [ShareRecord; MAX_SOURCES - 1],
}

impl ThreadRecord {
    /// What the source with this number has of the counts; `None` for the first.
    #[inline]
    fn share(&mut self, source: usize) -> Option<&mut ShareRecord> {
        self.further.get_mut(source.checked_sub(1)?)
    }

    /// Counts a signal of a source as handled.
    #[inline]
    pub fn count_signal(&mut self, source: usize) {
        self.signals += 1;
        if let Some(share) = self.share(source) {
            share.signals += 1;
        }
    }

    /// Counts samples of a source as delivered.
    #[inline]
    pub fn count_delivered(&mut self, source: usize, samples: u64) {
        self.delivered += samples;
        if let Some(share) = self.share(source) {
            share.delivered += samples;
        }
    }

    /// Counts samples of a source as recorded.
    #[inline]
    pub fn count_recorded(&mut self, source: usize, samples: u64) {
        self.recorded += samples;
        if let Some(share) = self.share(source) {
            share.recorded += samples;
        }
    }

    /// Counts samples as lost. By `get_mut`, as below.
    #[inline]
    pub fn count_loss(&mut self, reason: LossReason, samples: u64) {
        if let Some(count) = self.losses.get_mut(reason as usize) {
            *count += samples;
        }
    }

    /// Counts recorded samples of a source as partial.
    #[inline]
    pub fn count_partial(&mut self, source: usize, reason: PartialReason, samples: u64) {
        // By `get_mut`: the compiler may see no bound of the reason, and would put a panic.
        if let Some(count) = self.partial.get_mut(reason as usize) {
            *count += samples;
        }
        if let Some(share) = self.share(source) {
            share.partial += samples;
        }
    }
}

/// What one of several sources has of the counts of a thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct ShareRecord {
    /// Of [`ThreadRecord::signals`]: a signal is of one source.
    pub signals: u64,
    /// Of [`ThreadRecord::delivered`].
    pub delivered: u64,
    /// Of [`ThreadRecord::recorded`].
    pub recorded: u64,
    /// Of all [`ThreadRecord::partial`] together.
    pub partial: u64,
}

/// A signal that stands for this much time or more, in nanoseconds, was held up: the profiling
/// signal was blocked, or the machine stood still (not of elapsed time: there it is a wait).
/// Kernels tick every 10 ms at least, and look at CPU timers then.
pub const LATE_NS: u64 = 50_000_000;

const _: () = assert!(size_of::<ThreadRecord>() == 880);

/// One node of a calling context tree.
///
/// The samples of a node are of one metric, that of its key: a place at which samples of two
/// metrics ended has two nodes, which are one in the saved profile.
///
/// The children of a node form an unbalanced binary search tree, ordered by a hash of their keys,
/// through `left` and `right`; `child` is the root of that search tree. Node 0 of a thread is
/// never used, so 0 means "none".
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Node {
    /// A [`FrameKey`].
    pub key: u64,
    /// The calling context's node; 0 for the root of an epoch.
    pub parent: u32,
    /// Root of the search tree of children.
    pub child: u32,
    /// Sibling with a smaller hash.
    pub left: u32,
    /// Sibling with a greater hash.
    pub right: u32,
    /// Samples that ended here.
    pub samples: u64,
    /// Sampled activations of this node that returned.
    pub edges: u64,
}

const _: () = assert!(size_of::<Node>() == 40);

/// When samples were added to a node. Those of a thread are in the order in which they were taken.
///
/// It is written before the node's samples are counted: of a process that was killed in between,
/// the last one is of no sample. Of samples that found no room here the nodes tell alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct TimeRecord {
    /// `CLOCK_MONOTONIC`.
    pub time_ns: u64,
    /// The node.
    pub node: u32,
    /// Samples that were added; of more than there is room for, as many as there is.
    pub samples: u32,
}

const _: () = assert!(size_of::<TimeRecord>() == 16);

/// A block of the program's heap of which a sample was taken, and that is still in use. A process
/// that is killed leaves those that it had.
///
/// An extent of blocks is full of them; which are in use says the address. One place is never two
/// blocks', but a block that was resized may have several.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct BlockRecord {
    /// Address of the block, with more in it while the block is being resized; 0 where the place
    /// is free, [`BlockRecord::TAKEN`] while it is being filled, [`BlockRecord::OUTLIVED`] where
    /// it stands for blocks that were given back after their phase had ended.
    pub address: u64,
    /// Samples that were added to the node, and above them, of a block that is followed to the end
    /// of its phase, in bits from [`BlockRecord::PHASE_SHIFT`] on which phase that was.
    pub samples: u64,
    /// Index of the thread that asked for the block, and [`BlockRecord::OF_PHASE`].
    pub thread: u32,
    /// The node.
    pub node: u32,
}

const _: () = assert!(size_of::<BlockRecord>() == 24);

impl BlockRecord {
    /// [`BlockRecord::address`] where another part of the record is not there yet.
    pub const TAKEN: u64 = 1;
    /// [`BlockRecord::address`] of blocks that were given back, but not in their phase. Nothing
    /// else in the record says anything of phases.
    pub const OUTLIVED: u64 = 3;
    /// In [`BlockRecord::thread`]: the block is followed to the end of its phase.
    pub const OF_PHASE: u32 = 1 << 31;
    /// Where [`BlockRecord::samples`] has which phase.
    pub const PHASE_SHIFT: u32 = 40;

    /// The record without what is there of phases.
    #[must_use]
    pub const fn plain(self) -> Self {
        if self.thread & Self::OF_PHASE == 0 {
            return self;
        }
        let samples = self.samples & !(u64::MAX << Self::PHASE_SHIFT);
        Self { samples, thread: self.thread & !Self::OF_PHASE, ..self }
    }
}

/// Bytes of the first extent of blocks, the header included; each further one is twice as large.
pub const FIRST_BLOCKS_EXTENT: u64 = 2 * EXTENT_ALIGN;
/// Most extents of blocks of a process.
pub const BLOCKS_EXTENTS: usize = 10;

/// Bytes of a thread's first extent of times, the header included. Each further one is twice as
/// large as the one before, up to [`MAX_TIMES_EXTENT`]: programs start threads by the thousand.
pub const FIRST_TIMES_EXTENT: u64 = EXTENT_ALIGN;
/// Bytes of the largest extents of times.
pub const MAX_TIMES_EXTENT: u64 = 64 << 10;

/// The segment that holds node `index` and the node's place in it.
///
/// ```
/// # use csprof_format::arena::locate;
/// assert_eq!(locate(0), (0, 0));
/// assert_eq!(locate(255), (0, 255));
/// assert_eq!(locate(256), (1, 0));
/// assert_eq!(locate(1024), (4, 0));
/// assert_eq!(locate(1535), (4, 511));
/// ```
#[must_use]
#[inline]
pub const fn locate(index: u32) -> (u32, u32) {
    const START: u64 = FIRST_SEGMENT_NODES as u64 * SEGMENTS_OF_A_SIZE as u64;
    // The bits behind the first are the segment among those of its size, and the place in it.
    // Not 0 for any index, so that there is no logarithm that could panic.
    let shifted = index as u64 + START;
    let size = shifted.ilog2() - START.ilog2();
    let bits = FIRST_SEGMENT_NODES.ilog2() + size;
    let among = (shifted >> bits) as u32 & (SEGMENTS_OF_A_SIZE - 1);
    (size * SEGMENTS_OF_A_SIZE + among, (shifted & ((1 << bits) - 1)) as u32)
}

/// Nodes that a segment holds.
#[must_use]
pub const fn segment_nodes(segment: u32) -> u32 {
    FIRST_SEGMENT_NODES << (segment / SEGMENTS_OF_A_SIZE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_tile_the_node_numbers() {
        let mut expected = (0, 0);
        for index in 0..100_000 {
            assert_eq!(locate(index), expected, "node {index}");
            expected.1 += 1;
            if expected.1 == segment_nodes(expected.0) {
                expected = (expected.0 + 1, 0);
            }
        }
        assert_eq!(locate(u32::MAX), (88, 1023), "beyond all segments, of a damaged arena");
    }
}
