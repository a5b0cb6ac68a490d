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
//! ```
//!
//! The nodes of a thread are numbered from 0 across its segments, as [`locate`] has it.
//! Publication: a writer fills a record, then raises the extent's `committed` (or the thread's
//! `node_count`) with a release store; a reader loads that with acquire and looks no further. In a
//! file left by a dead process everything is visible.
//!
//! All numbers are little-endian; x86-64 is. The structures are laid out without padding.

use crate::loss::{LossReason, PartialReason};

/// First bytes of an arena: the high bit and the line ends show damage by text transfer.
pub const ARENA_MAGIC: [u8; 8] = *b"\x89CSPA\r\n\x1a";
/// Version of this layout. An arena is read by the csprof that wrote it, so there is no minor.
pub const ARENA_VERSION: u32 = 3;
/// First four bytes of each extent.
pub const EXTENT_MAGIC: u32 = u32::from_le_bytes(*b"XTNT");
/// Alignment of extents, in bytes.
pub const EXTENT_ALIGN: u64 = 4096;
/// Nodes in each of the first four segments of a thread; of the next four, twice as many, and so on:
/// a tree never holds more than a quarter of the memory that it needs in reserve.
pub const FIRST_SEGMENT_NODES: u32 = 256;
/// Segments of one size.
const SEGMENTS_OF_A_SIZE: u32 = 4;
/// Most segments of one thread, hence about 2^30 nodes.
pub const MAX_SEGMENTS: usize = 80;
/// Room for reasons in fixed-size records; more than there are, so that adding one moves nothing.
pub const REASON_SLOTS: usize = 16;
/// Ending of arena files in the run folder.
pub const ARENA_SUFFIX: &str = ".arena";

const _: () = assert!(LossReason::COUNT <= REASON_SLOTS && PartialReason::COUNT <= REASON_SLOTS);

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
    /// Number of the [`SourceKind`](crate::launch::SourceKind) in use (after any fallback).
    pub source: u32,
    /// Bit 0: the trampoline is on. See `FLAG_*`.
    pub flags: u32,
    /// Period of the source, in nanoseconds.
    pub period_ns: u64,
    /// `CLOCK_REALTIME` when the arena was made, in nanoseconds.
    pub start_unix_ns: u64,
    /// `CLOCK_MONOTONIC` at the same moment; all other times in the arena are of this clock.
    pub start_ns: u64,
    /// `CLOCK_MONOTONIC` at an orderly end or at exec; 0 while running or after a kill.
    pub end_ns: u64,
    /// Bytes handed out, this page included; the next extent begins here. Atomic.
    pub used: u64,
    /// Number of threads that have a record. Atomic.
    pub threads: u32,
    /// MPI or job rank plus one; 0 if there is none.
    pub rank_plus_one: u32,
    /// Samples that arrived where no thread could own them, by `LossReason`. Atomic.
    pub losses: [u64; REASON_SLOTS],
    /// Profiling signals from elsewhere (`kill -PROF`), for which the program has no handler; not samples.
    pub foreign_signals: u64,
    /// Processes that this one started and that are not in the run, by [`LeftOut`]. Atomic.
    pub left_out: [u32; LEFT_OUT_SLOTS],
    /// CPU time of the process when sampling began, in nanoseconds: loading, and what csprof needed.
    pub cpu_before_ns: u64,
    /// CPU time of the process, all its threads together, when it was last noted.
    pub cpu_ns: u64,
    /// Threads that could not be sampled: memory or a timer was refused, or clone(2) made them behind
    /// the C library's back. Atomic.
    pub unsampled_threads: u64,
    /// Bytes of recipe tables and of what is kept about modules.
    pub table_bytes: u64,
    /// Bytes of the collector's own memory outside the arena: heap, with the tables, and buffers.
    pub private_bytes: u64,
    /// Bytes of extents that were given back: nodes that a thread had in reserve when it ended. Atomic.
    pub returned: u64,
}

/// [`ArenaHeader::flags`]: return addresses are replaced, so edge counts exist.
pub const FLAG_TRAMPOLINE: u32 = 1;
/// [`ArenaHeader::flags`]: the process went through exec; another arena continues its story.
pub const FLAG_EXECED: u32 = 2;

const _: () = assert!(size_of::<ArenaHeader>() == 280);

/// Room for reasons in [`ArenaHeader::left_out`].
pub const LEFT_OUT_SLOTS: usize = 4;

/// Why a process has no arena.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum LeftOut {
    /// Forked, and an arena of its own was refused.
    Refused = 0,
    /// Executed with an environment that does not have csprof's variables.
    Environment = 1,
    /// Executed where the collector or the run folder cannot be reached.
    OutOfReach = 2,
}

impl LeftOut {
    /// All reasons, in the order of their numbers.
    pub const ALL: [Self; 3] = [Self::Refused, Self::Environment, Self::OutOfReach];

    /// What happened to processes of this kind, after their number.
    #[must_use]
    pub const fn explanation(self) -> &'static str {
        match self {
            Self::Refused => {
                "made by fork, not in this profile: shared memory for it was refused (a limit of \
                 files, file size or memory, or a full /dev/shm)"
            }
            Self::Environment => {
                "started, not in this profile: its environment was cleared of csprof's variables"
            }
            Self::OutOfReach => {
                "started, not in this profile: csprof's files cannot be reached from where it was \
                 (chroot, or mounts of its own)"
            }
        }
    }
}

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
}

impl ExtentKind {
    /// The kind with this number, if there is one.
    #[must_use]
    pub const fn from_u32(value: u32) -> Option<Self> {
        Some(match value {
            1 => Self::Log,
            2 => Self::Thread,
            3 => Self::Nodes,
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
    /// Thread index, for [`ExtentKind::Thread`] and [`ExtentKind::Nodes`].
    pub owner: u32,
    /// Segment number, for nodes.
    pub segment: u32,
    /// Payload bytes that are valid, for [`ExtentKind::Log`]. Atomic.
    pub committed: u64,
}

const _: () = assert!(size_of::<ExtentHeader>() == 32);

/// One thread's counters. All counters are written by that thread only.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct ThreadRecord {
    /// Thread id.
    pub tid: u32,
    /// Index of the thread in its process, from 0.
    pub index: u32,
    /// Name as the kernel knows it, padded with zeros.
    pub name: [u8; 16],
    /// `CLOCK_MONOTONIC` at the start of sampling.
    pub start_ns: u64,
    /// `CLOCK_MONOTONIC` at the thread's end; 0 while it runs.
    pub end_ns: u64,
    /// CPU time of the thread at its last sample or its end, in nanoseconds.
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
    /// CPU time of the thread when sampling began, in nanoseconds.
    pub cpu_before_ns: u64,
    /// Recorded or lost samples that came long after they were due, see [`LATE_NS`].
    pub late: u64,
}

/// A signal that stands for this much time or more, in nanoseconds, was held up: the profiling
/// signal was blocked, or the machine stood still. Kernels tick every 10 ms at least, and look at CPU
/// timers then.
pub const LATE_NS: u64 = 50_000_000;

const _: () = assert!(size_of::<ThreadRecord>() == 384);

/// One node of a calling context tree.
///
/// The children of a node form an unbalanced binary search tree, ordered by a hash of their keys,
/// through `left` and `right`; `child` is the root of that search tree. Node 0 of a thread is
/// never used, so 0 means "none".
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Node {
    /// A [`FrameKey`](crate::address::FrameKey).
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
    const START: u32 = FIRST_SEGMENT_NODES * SEGMENTS_OF_A_SIZE;
    // The bits behind the first are the segment among those of its size, and the place in it.
    let shifted = index.wrapping_add(START);
    let size = shifted.ilog2() - START.ilog2();
    let bits = FIRST_SEGMENT_NODES.ilog2() + size;
    let among = (shifted >> bits) & (SEGMENTS_OF_A_SIZE - 1);
    (size * SEGMENTS_OF_A_SIZE + among, shifted & ((1 << bits) - 1))
}

/// Nodes that a segment holds.
#[must_use]
pub const fn segment_nodes(segment: u32) -> u32 {
    FIRST_SEGMENT_NODES << (segment / SEGMENTS_OF_A_SIZE)
}

/// A record of the log: `length` bytes of payload follow this header, then zeros up to a multiple
/// of eight.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct LogRecordHeader {
    /// Number of the kind; see [`LogRecord`].
    pub kind: u32,
    /// Bytes of payload.
    pub length: u32,
    /// `CLOCK_MONOTONIC` when it was written.
    pub time_ns: u64,
}

const _: () = assert!(size_of::<LogRecordHeader>() == 16);

/// What a log record says. The payloads are encoded by [`LogRecord::encode`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
enum LogKind {
    Command = 1,
    Load = 2,
    Unload = 3,
    Epoch = 4,
    Message = 5,
}

/// Why an epoch began, as stored in the log.
pub mod epoch_reason {
    /// The process started.
    pub const START: u32 = 0;
    /// An address range was reused by another module.
    pub const ADDRESS_REUSE: u32 = 1;
    /// A module was loaded, and every load begins an epoch.
    pub const LOAD: u32 = 2;
    /// The program asked for it.
    pub const REQUEST: u32 = 3;
}

/// A record of the log, decoded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LogRecord {
    /// Program and arguments of the process.
    Command(Vec<Vec<u8>>),
    /// A load module appeared. It belongs to the present epoch and all later ones until unloaded.
    Load(LoadRecord),
    /// The module with this number is gone; it belongs to no later epoch.
    Unload {
        /// [`LoadRecord::number`] of the module.
        number: u32,
    },
    /// A new epoch begins.
    Epoch {
        /// Its number in the process, from 0.
        number: u32,
        /// One of [`epoch_reason`].
        reason: u32,
    },
    /// Something to tell the user.
    Message(String),
}

/// A load module as the collector saw it in memory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LoadRecord {
    /// Number of the load in the process, from 0, never reused.
    pub number: u32,
    /// Path from the loader; `[vdso]` for the vdso.
    pub path: Vec<u8>,
    /// GNU build id, empty if none.
    pub build_id: Vec<u8>,
    /// Runtime address minus ELF virtual address. Wraps.
    pub bias: u64,
    /// Runtime addresses of its segments: start and end of each.
    pub segments: Vec<(u64, u64)>,
}

impl LogRecord {
    /// Appends the record, header included, to `out`; its length is a multiple of eight.
    pub fn encode(&self, time_ns: u64, out: &mut Vec<u8>) {
        let mut payload = Vec::new();
        let kind = match self {
            Self::Command(arguments) => {
                put_u32(&mut payload, arguments.len() as u32);
                arguments.iter().for_each(|argument| put_bytes(&mut payload, argument));
                LogKind::Command
            }
            Self::Load(load) => {
                put_u32(&mut payload, load.number);
                put_bytes(&mut payload, &load.path);
                put_bytes(&mut payload, &load.build_id);
                put_u64(&mut payload, load.bias);
                put_u32(&mut payload, load.segments.len() as u32);
                for &(start, end) in &load.segments {
                    put_u64(&mut payload, start);
                    put_u64(&mut payload, end);
                }
                LogKind::Load
            }
            Self::Unload { number } => {
                put_u32(&mut payload, *number);
                LogKind::Unload
            }
            Self::Epoch { number, reason } => {
                put_u32(&mut payload, *number);
                put_u32(&mut payload, *reason);
                LogKind::Epoch
            }
            Self::Message(text) => {
                put_bytes(&mut payload, text.as_bytes());
                LogKind::Message
            }
        };
        put_u32(out, kind as u32);
        put_u32(out, payload.len() as u32);
        put_u64(out, time_ns);
        out.extend_from_slice(&payload);
        out.resize(out.len().next_multiple_of(8), 0);
    }

    /// Reads the record at the start of `bytes`: its time, itself, and the bytes it took.
    ///
    /// Returns `None` where the bytes are cut off or hold no known record.
    #[must_use]
    pub fn decode(bytes: &[u8]) -> Option<(u64, Self, usize)> {
        let mut header = Cursor(bytes);
        let kind = header.u32()?;
        let length = header.u32()? as usize;
        let time_ns = header.u64()?;
        let mut payload = Cursor(header.0.get(..length)?);
        let record = match kind {
            k if k == LogKind::Command as u32 => {
                let count = payload.u32()?;
                Self::Command((0..count).map(|_| payload.bytes()).collect::<Option<_>>()?)
            }
            k if k == LogKind::Load as u32 => Self::Load(LoadRecord {
                number: payload.u32()?,
                path: payload.bytes()?,
                build_id: payload.bytes()?,
                bias: payload.u64()?,
                segments: {
                    let count = payload.u32()?;
                    (0..count)
                        .map(|_| Some((payload.u64()?, payload.u64()?)))
                        .collect::<Option<_>>()?
                },
            }),
            k if k == LogKind::Unload as u32 => Self::Unload { number: payload.u32()? },
            k if k == LogKind::Epoch as u32 => {
                Self::Epoch { number: payload.u32()?, reason: payload.u32()? }
            }
            k if k == LogKind::Message as u32 => {
                Self::Message(String::from_utf8_lossy(&payload.bytes()?).into_owned())
            }
            _ => return None,
        };
        Some((time_ns, record, (size_of::<LogRecordHeader>() + length).next_multiple_of(8)))
    }
}

fn put_u32(out: &mut Vec<u8>, value: u32) {
    out.extend_from_slice(&value.to_le_bytes());
}

fn put_u64(out: &mut Vec<u8>, value: u64) {
    out.extend_from_slice(&value.to_le_bytes());
}

fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    put_u32(out, bytes.len() as u32);
    out.extend_from_slice(bytes);
}

struct Cursor<'a>(&'a [u8]);

impl Cursor<'_> {
    fn u32(&mut self) -> Option<u32> {
        let (bytes, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u32::from_le_bytes(*bytes))
    }

    fn u64(&mut self) -> Option<u64> {
        let (bytes, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u64::from_le_bytes(*bytes))
    }

    fn bytes(&mut self) -> Option<Vec<u8>> {
        let length = self.u32()? as usize;
        let (bytes, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(bytes.to_vec())
    }
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
    }

    #[test]
    fn log_records_come_back_and_cut_ones_do_not() {
        let records = [
            LogRecord::Command(vec![b"xz".to_vec(), b"-T2".to_vec()]),
            LogRecord::Load(LoadRecord {
                number: 3,
                path: b"/lib/libc.so.6".to_vec(),
                build_id: vec![1, 2, 3],
                bias: 0x7f00_0000_0000,
                segments: vec![(0x7f00_0000_0000, 0x7f00_0002_0000)],
            }),
            LogRecord::Unload { number: 3 },
            LogRecord::Epoch { number: 1, reason: epoch_reason::ADDRESS_REUSE },
            LogRecord::Message("task-clock was refused".into()),
        ];
        for record in records {
            let mut bytes = Vec::new();
            record.encode(42, &mut bytes);
            assert_eq!(bytes.len() % 8, 0);
            assert_eq!(LogRecord::decode(&bytes), Some((42, record.clone(), bytes.len())));
            for cut in 0..size_of::<LogRecordHeader>() + 4 {
                assert_eq!(LogRecord::decode(&bytes[..cut]), None, "{record:?} cut at {cut}");
            }
        }
    }
}
