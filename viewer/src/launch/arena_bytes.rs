//! Arenas for tests, written byte by byte as the collector lays them out.

use std::io::{self, Cursor};

use csprof_format::address::{FrameKey, FrameKind};
use csprof_format::arena::{
    ARENA_MAGIC, ARENA_VERSION, ArenaHeader, EXTENT_ALIGN, EXTENT_MAGIC, ExtentKind, FLAG_LOCKED,
    FLAG_TIMES, LEFT_OUT_NAME, LEFT_OUT_SLOTS, LoadRecord, LogRecord, Node, REASON_SLOTS,
    SourceRecord, ThreadRecord, epoch_reason, locate, segment_nodes,
};
use csprof_format::file_identity::FileIdentity;
use csprof_format::launch::MAX_SOURCES;

use super::arena_read::ArenaFile;

impl<B: AsRef<[u8]>> ArenaFile for Cursor<B> {
    fn next_data(&mut self, from: u64) -> io::Result<Option<u64>> {
        Ok((from < self.get_ref().as_ref().len() as u64).then_some(from))
    }
}

/// As a process has its arena: locked, mapped, and closed.
#[expect(unsafe_code, reason = "a mapping of a file")]
pub(super) fn lock_mapped(arena: &std::path::Path) -> memmap2::Mmap {
    let file = std::fs::File::open(arena).unwrap();
    file.lock().unwrap();
    // SAFETY: nothing of it is read.
    unsafe { memmap2::Mmap::map(&file) }.unwrap()
}

/// A node to write: (key, parent, samples, edges).
pub(super) type NodeRow = (FrameKey, u32, u64, u64);

/// The bytes of an arena, and where its extents begin.
pub(super) struct ArenaBytes {
    pub(super) bytes: Vec<u8>,
    pub(super) extents: Vec<usize>,
    threads: u32,
}

/// The key of an interrupted function with samples of a further source.
pub(super) fn leaf_of(source: usize, address: u64) -> FrameKey {
    leaf(address).of_metric(source)
}

/// A thread to write.
#[derive(Default)]
pub(super) struct ThreadRow<'a> {
    pub(super) tid: u32,
    pub(super) name: &'a str,
    /// Threads before it in the record, and nanoseconds in which none had it.
    pub(super) earlier: [u64; 2],
    pub(super) delivered: u64,
    pub(super) recorded: u64,
    pub(super) losses: &'a [u64],
    pub(super) partial: u64,
    /// Of further sources: signals, delivered, recorded, partial.
    pub(super) further: &'a [[u64; 4]],
    /// Nodes from number 1; number 0 is never used.
    pub(super) nodes: &'a [NodeRow],
}

impl ArenaBytes {
    /// The first page: process `pid` started at `start_ns` and ended `end_ns`, 0 if it runs.
    pub(super) fn new(pid: u32, start_ns: u64, end_ns: u64) -> Self {
        let mut bytes = Vec::new();
        bytes.extend(ARENA_MAGIC);
        // version, pid, parent, forked, number of sources, flags (trampoline)
        for field in [ARENA_VERSION, pid, 1, 0, 1, 1] {
            bytes.extend(field.to_le_bytes());
        }
        // CLOCK_REALTIME, CLOCK_MONOTONIC at start and end, bytes used
        for field in [1_700_000_000_000_000_000, start_ns, end_ns, 0u64] {
            bytes.extend(field.to_le_bytes());
        }
        // threads, rank plus one
        for field in [0u32, 0] {
            bytes.extend(field.to_le_bytes());
        }
        // losses, foreign signals, left out and their names
        bytes
            .resize(bytes.len() + 8 * (REASON_SLOTS + 1) + (4 + LEFT_OUT_NAME) * LEFT_OUT_SLOTS, 0);
        // CPU time before sampling and in all, unsampled threads, bytes of tables, private and
        // given back
        for field in [1000u64, 8000, 0, 300, 70_000, 0] {
            bytes.extend(field.to_le_bytes());
        }
        // one source: its period, kind (cputime), not dropped
        bytes.extend(5_000_000u64.to_le_bytes());
        bytes.resize(size_of::<ArenaHeader>(), 0);
        bytes.resize(EXTENT_ALIGN as usize, 0);
        Self { bytes, extents: Vec::new(), threads: 0 }
    }

    /// Says that so many processes are not in the run, by the number of the reason.
    pub(super) fn left_out(mut self, numbers: [u32; LEFT_OUT_SLOTS]) -> Self {
        for (place, number) in (208..).step_by(4).zip(numbers) {
            self.bytes[place..place + 4].copy_from_slice(&number.to_le_bytes());
        }
        self
    }

    /// Names the first program that was left out for this reason.
    pub(super) fn left_out_name(mut self, reason: usize, name: &str) -> Self {
        let place = 248 + reason * LEFT_OUT_NAME;
        self.bytes[place..place + name.len()].copy_from_slice(name.as_bytes());
        self
    }

    /// Gives the process these sources, each with kind, period, and whether it was dropped.
    pub(super) fn sources(mut self, sources: &[(u32, u64, bool)]) -> Self {
        self.bytes[24..28].copy_from_slice(&(sources.len() as u32).to_le_bytes());
        for (place, &(kind, period, dropped)) in
            (456..).step_by(size_of::<SourceRecord>()).zip(sources)
        {
            self.bytes[place..place + 8].copy_from_slice(&period.to_le_bytes());
            self.bytes[place + 8..place + 12].copy_from_slice(&kind.to_le_bytes());
            self.bytes[place + 12..place + 16].copy_from_slice(&u32::from(dropped).to_le_bytes());
        }
        self
    }

    /// Marks the process as forked.
    pub(super) fn forked(mut self) -> Self {
        self.bytes[20..24].copy_from_slice(&1u32.to_le_bytes());
        self
    }

    /// Adds a log extent with these records, written at times 1000, 1001, …
    pub(super) fn log(mut self, records: &[LogRecord]) -> Self {
        let mut payload = Vec::new();
        for (time_ns, record) in (1000..).zip(records) {
            record.encode(time_ns, &mut payload);
        }
        let committed = payload.len() as u64;
        self.extent(ExtentKind::Log, 0, 0, committed, &payload);
        self
    }

    /// Adds a thread with all segments of its nodes.
    pub(super) fn thread(mut self, row: &ThreadRow<'_>) -> Self {
        let index = self.threads;
        self.threads += 1;
        let count = row.nodes.len() as u32 + 1;
        let mut payload = Vec::new();
        payload.extend(row.tid.to_le_bytes());
        payload.extend(index.to_le_bytes());
        let mut name = [0; 16];
        name[..row.name.len()].copy_from_slice(row.name.as_bytes());
        payload.extend(name);
        // start, end, CPU time
        for field in [2000u64, 9000, 7000] {
            payload.extend(field.to_le_bytes());
        }
        // node count, greatest depth
        for field in [count, 3] {
            payload.extend(field.to_le_bytes());
        }
        // signals, delivered, recorded, returns, lost returns, frames unwound, reused paths
        for field in [row.delivered, row.delivered, row.recorded, 11, 1, 0, 0] {
            payload.extend(field.to_le_bytes());
        }
        let losses = row.losses.iter().copied().chain(std::iter::repeat(0)).take(REASON_SLOTS);
        let partial = std::iter::once(row.partial).chain([0; REASON_SLOTS - 1]);
        for field in losses.chain(partial) {
            payload.extend(field.to_le_bytes());
        }
        // CPU time before sampling, earlier threads, late samples
        for field in [500, row.earlier[0], row.earlier[1], 2] {
            payload.extend(field.to_le_bytes());
        }
        let further = row.further.iter().copied().chain(std::iter::repeat([0; 4]));
        for field in further.take(MAX_SOURCES - 1).flatten() {
            payload.extend(field.to_le_bytes());
        }
        assert_eq!(payload.len(), size_of::<ThreadRecord>());

        let unused = (FrameKey::new(FrameKind::Call, 0), 0, 0, 0);
        let nodes: Vec<NodeRow> =
            std::iter::once(unused).chain(row.nodes.iter().copied()).collect();
        let (last_segment, _) = locate(count - 1);
        let mut rest = nodes.as_slice();
        for segment in 0..=last_segment {
            let capacity = segment_nodes(segment) as usize;
            let (here, later) = rest.split_at(rest.len().min(capacity));
            rest = later;
            for &(key, parent, samples, edges) in here {
                payload.extend(key.to_bits().to_le_bytes());
                // parent, then the search tree of siblings, which nobody outside needs
                for field in [parent, 0, 0, 0] {
                    payload.extend(field.to_le_bytes());
                }
                payload.extend(samples.to_le_bytes());
                payload.extend(edges.to_le_bytes());
            }
            let missing = capacity - here.len();
            payload.resize(payload.len() + missing * size_of::<Node>(), 0);
            let kind = if segment == 0 { ExtentKind::Thread } else { ExtentKind::Nodes };
            self.extent(kind, index, segment, 0, &payload);
            payload.clear();
        }
        self
    }

    /// Says that the file is locked while it is mapped.
    pub(super) fn locked(mut self) -> Self {
        self.bytes[28] |= FLAG_LOCKED as u8;
        self
    }

    /// Adds times of a thread's samples in this extent of them: time, node, samples.
    pub(super) fn times(mut self, thread: u32, number: u32, rows: &[(u64, u32, u32)]) -> Self {
        self.bytes[28..32].copy_from_slice(&FLAG_TIMES.to_le_bytes());
        let mut payload = Vec::new();
        for &(time_ns, node, samples) in rows {
            payload.extend(time_ns.to_le_bytes());
            payload.extend(node.to_le_bytes());
            payload.extend(samples.to_le_bytes());
        }
        let committed = payload.len() as u64;
        self.extent(ExtentKind::Times, thread, number, committed, &payload);
        self
    }

    /// Adds blocks that are followed: address, samples, thread, node.
    pub(super) fn blocks(mut self, rows: &[(u64, u64, u32, u32)]) -> Self {
        let mut payload = Vec::new();
        for &(address, samples, thread, node) in rows {
            payload.extend(address.to_le_bytes());
            payload.extend(samples.to_le_bytes());
            payload.extend(thread.to_le_bytes());
            payload.extend(node.to_le_bytes());
        }
        self.extent(ExtentKind::Blocks, 0, 0, 0, &payload);
        self
    }

    /// Adds a page that was handed out and never written.
    pub(super) fn hole(mut self) -> Self {
        self.bytes.resize(self.bytes.len() + EXTENT_ALIGN as usize, 0);
        self
    }

    fn extent(
        &mut self,
        kind: ExtentKind,
        owner: u32,
        segment: u32,
        committed: u64,
        payload: &[u8],
    ) {
        let start = self.bytes.len();
        self.extents.push(start);
        let size = (32 + payload.len()).next_multiple_of(EXTENT_ALIGN as usize);
        for field in [EXTENT_MAGIC, kind as u32] {
            self.bytes.extend(field.to_le_bytes());
        }
        self.bytes.extend((size as u64).to_le_bytes());
        for field in [owner, segment] {
            self.bytes.extend(field.to_le_bytes());
        }
        self.bytes.extend(committed.to_le_bytes());
        self.bytes.extend(payload);
        self.bytes.resize(start + size, 0);
    }
}

/// A load record with one segment.
pub(super) fn load(number: u32, path: &str, start: u64, end: u64) -> LogRecord {
    LogRecord::Load(LoadRecord {
        number,
        path: path.into(),
        build_id: vec![number as u8 + 1],
        bias: start,
        segments: vec![(start, end)],
        // With a build id it does not matter.
        file: Some(FileIdentity { inode: number.into(), ..FileIdentity::default() }),
    })
}

/// The record that begins an epoch.
pub(super) fn epoch(number: u32) -> LogRecord {
    let reason = if number == 0 { epoch_reason::START } else { epoch_reason::ADDRESS_REUSE };
    LogRecord::Epoch { number, reason }
}

/// The key of an epoch's root.
pub(super) fn root(epoch: u64) -> FrameKey {
    FrameKey::new(FrameKind::Root, epoch)
}

/// The key of a caller.
pub(super) fn call(address: u64) -> FrameKey {
    FrameKey::new(FrameKind::Call, address)
}

/// The key of an interrupted function.
pub(super) fn leaf(address: u64) -> FrameKey {
    FrameKey::new(FrameKind::Leaf, address)
}
