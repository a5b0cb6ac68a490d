//! Reads one arena, the file in which a profiled process keeps what it sampled, into values.
//!
//! In the life of a sample this is the step out of shared memory: what the collector's handler
//! counted into nodes becomes a list of nodes here, still with runtime addresses.
//!
//! The file may be growing (its process runs on), may have been cut off or damaged, and in a run
//! by root may come from somebody else: nothing in it is believed. Extents are found by scanning
//! pages for their magic number, so that a hole (room taken but never filled, because the process
//! was killed at that moment) costs no more than itself. What cannot be read leaves a sentence in
//! [`Arena::damage`]; the samples in it are booked as a loss when arenas are gathered.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};

use csprof_format::address::FrameKey;
use csprof_format::arena::{
    ARENA_MAGIC, ARENA_VERSION, ArenaHeader, BlockRecord, EXTENT_ALIGN, EXTENT_MAGIC, EntryRecord,
    ExtentHeader, ExtentKind, LogRecord, MAX_SEGMENTS, MOST_PHASES, Node, REASON_SLOTS,
    ShareRecord, SourceRecord, ThreadRecord, TimeRecord, locate, segment_nodes,
};
use nix::errno::Errno;
use nix::unistd::{Whence, lseek};

/// What one process left, or has written so far.
#[derive(Clone, Debug)]
pub struct Arena {
    /// The first page.
    pub header: ArenaHeader,
    /// Records of the log with the `CLOCK_MONOTONIC` at which they were written, in order.
    pub log: Vec<(u64, LogRecord)>,
    /// Threads by their index in the process.
    pub threads: Vec<ArenaThread>,
    /// Blocks of its heap that were sampled, and not given back.
    pub blocks: Vec<BlockRecord>,
    /// Entries of functions that begin phases, by the numbers of the phases, from 1.
    pub entries: Vec<EntryRecord>,
    /// What could not be read, one sentence each.
    pub damage: Vec<String>,
}

/// One thread of an arena.
#[derive(Clone, Debug)]
pub struct ArenaThread {
    /// Its counters.
    pub record: ThreadRecord,
    /// Bytes of its extents.
    pub bytes: u64,
    /// Its nodes; number 0 is never used. Shorter than `record.node_count` if the end is missing.
    pub nodes: Vec<ArenaNode>,
    /// When samples of them were taken, in order.
    pub times: Vec<TimeRecord>,
}

/// A node of a calling context tree, as far as it matters outside the process: the search tree
/// of siblings served the handler only.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ArenaNode {
    /// Frame; `None` if the node could not be read.
    pub key: Option<FrameKey>,
    /// Number of the calling context's node; 0 for the root of an epoch.
    pub parent: u32,
    /// Samples that ended here.
    pub samples: u64,
    /// Sampled activations that returned.
    pub edges: u64,
}

/// Why a file is no arena at all.
#[derive(Debug)]
pub enum NoArena {
    /// The process has made the file but not its first page.
    Empty,
    /// The file is something else.
    Foreign(String),
    /// Another version of csprof may be able to read it.
    Unreadable(String),
    /// The file cannot be read.
    Io(io::Error),
}

impl From<io::Error> for NoArena {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// A file that may be an arena.
pub trait ArenaFile: Read + Seek {
    /// The first byte from `from` on that has storage behind it, or an earlier one; `None` if there
    /// is none. Between the two it reads as zeros.
    ///
    /// # Errors
    ///
    /// When the file cannot be read.
    fn next_data(&mut self, from: u64) -> io::Result<Option<u64>>;
}

impl ArenaFile for File {
    fn next_data(&mut self, from: u64) -> io::Result<Option<u64>> {
        match lseek(&*self, from.cast_signed(), Whence::SeekData) {
            Ok(offset) => Ok(Some(offset.cast_unsigned())),
            Err(Errno::ENXIO) => Ok(None),
            // A file system that does not say so has storage everywhere.
            Err(_) => Ok(Some(from)),
        }
    }
}

/// Reads the first page of an arena only: who wrote it, and whether the process has ended.
///
/// # Errors
///
/// When it is missing, is not that of an arena, or cannot be read.
pub fn read_header(file: &mut impl ArenaFile) -> Result<ArenaHeader, NoArena> {
    let length = file.seek(SeekFrom::End(0))?;
    let mut first_page = [0; size_of::<ArenaHeader>()];
    if length < first_page.len() as u64 {
        return Err(NoArena::Empty);
    }
    read_at(file, 0, &mut first_page)?;
    let header = arena_header(&first_page);
    if header.magic != ARENA_MAGIC {
        // The magic number is written last.
        return Err(if header.magic == [0; 8] {
            NoArena::Empty
        } else {
            NoArena::Unreadable("it does not begin like an arena".into())
        });
    }
    if header.version != ARENA_VERSION {
        return Err(NoArena::Unreadable(format!(
            "it has arena version {}, and this csprof reads version {ARENA_VERSION}",
            header.version
        )));
    }

    Ok(header)
}

/// Reads an arena.
///
/// `backed` is how many bytes of the file have storage behind them (a hostile file can claim any
/// length for nothing); no more than that is read and kept.
///
/// # Errors
///
/// When the first page is missing, is not that of an arena, or cannot be read.
pub fn read(file: &mut impl ArenaFile, backed: u64) -> Result<Arena, NoArena> {
    let header = read_header(file)?;
    let length = file.seek(SeekFrom::End(0))?;
    let mut damage = Vec::new();
    let extents = find_extents(file, length, &mut damage)?;
    let mut budget = backed;
    let (mut log, mut blocks, mut entries) = (Vec::new(), Vec::new(), Vec::new());
    // By number. There are gaps: a thread takes its number, and is then refused memory, or killed.
    let mut threads = BTreeMap::new();
    // Thread extents come before those that continue them, but in a damaged file a `Nodes` extent
    // may have lost its thread, so threads are read first and segments afterwards.
    for extent in &extents {
        match extent.kind {
            ExtentKind::Log => read_log(file, extent, &mut budget, &mut log, &mut damage)?,
            ExtentKind::Thread => {
                let mut bytes = [0; size_of::<ThreadRecord>()];
                if extent.payload() < bytes.len() as u64 {
                    damage.push(format!("thread record at byte {:#x} is cut off", extent.offset));
                    continue;
                }
                read_at(file, extent.payload_offset(), &mut bytes)?;
                let record = thread_record(&bytes);
                let thread =
                    || ArenaThread { record, bytes: 0, nodes: Vec::new(), times: Vec::new() };
                threads.entry(extent.owner).or_insert_with(thread);
            }
            ExtentKind::Blocks => read_blocks(file, extent, &mut budget, &mut blocks)?,
            ExtentKind::Entries => read_entries(file, extent, &mut budget, &mut entries)?,
            ExtentKind::Nodes | ExtentKind::Times => {}
        }
    }
    let mut owned: BTreeMap<u32, Vec<&Extent>> = BTreeMap::new();
    let is_of_thread = |extent: &&Extent| {
        matches!(extent.kind, ExtentKind::Thread | ExtentKind::Nodes | ExtentKind::Times)
    };
    for extent in extents.iter().filter(is_of_thread) {
        owned.entry(extent.owner).or_default().push(extent);
    }
    for (owner, mut extents) in owned {
        let is_of_times = |extent: &mut &Extent| extent.kind == ExtentKind::Times;
        let mut times: Vec<&Extent> = extents.extract_if(.., is_of_times).collect();
        let Some(thread) = threads.get_mut(&owner) else {
            // A thread whose record itself is cut off has been told of.
            if extents.iter().any(|extent| extent.kind == ExtentKind::Nodes) {
                damage.push(format!("the record of thread {owner} is missing"));
            }
            continue;
        };
        thread.bytes = extents.iter().map(|extent| extent.size).sum();
        let segments = segments_of(&extents);
        thread.nodes = read_nodes(file, thread.record.node_count, &segments, &mut budget)?;
        let missing = thread.record.node_count as usize - thread.nodes.len()
            + thread.nodes.iter().skip(1).filter(|node| node.key.is_none()).count();
        if missing > 0 {
            damage.push(format!(
                "{missing} of {} nodes of thread {} are missing",
                thread.record.node_count, thread.record.tid
            ));
        }
        times.sort_by_key(|extent| extent.segment);
        thread.times = read_times(file, &times, &mut budget)?;
    }
    log.sort_by_key(|(place, _, _)| *place);
    Ok(Arena {
        header,
        log: log.into_iter().map(|(_, time_ns, record)| (time_ns, record)).collect(),
        threads: threads.into_values().collect(),
        blocks,
        entries,
        damage,
    })
}

/// An extent as its header describes it, clipped to the file.
#[derive(Clone, Copy, Debug)]
struct Extent {
    offset: u64,
    /// Bytes from `offset`, the header included.
    size: u64,
    kind: ExtentKind,
    owner: u32,
    segment: u32,
    committed: u64,
}

impl Extent {
    const fn payload_offset(&self) -> u64 {
        self.offset + size_of::<ExtentHeader>() as u64
    }

    const fn payload(&self) -> u64 {
        self.size.saturating_sub(size_of::<ExtentHeader>() as u64)
    }
}

fn find_extents(
    file: &mut impl ArenaFile,
    length: u64,
    damage: &mut Vec<String>,
) -> io::Result<Vec<Extent>> {
    let mut extents = Vec::new();
    let mut offset = EXTENT_ALIGN;
    let mut bytes = [0; size_of::<ExtentHeader>()];
    'extents: while offset + bytes.len() as u64 <= length {
        read_at(file, offset, &mut bytes)?;
        let header = extent_header(&bytes);
        let kind = ExtentKind::from_u32(header.kind);
        let is_extent = header.magic == EXTENT_MAGIC
            && header.size >= EXTENT_ALIGN
            && header.size.is_multiple_of(EXTENT_ALIGN);
        let (true, Some(kind)) = (is_extent, kind) else {
            // The magic number is written last: the thread may have been killed before.
            if header.magic != 0 {
                damage.push(format!("no extent begins at byte {offset:#x}, where one should"));
            }
            offset += EXTENT_ALIGN;
            // Without zeros in between, one sentence says it: look for the next extent, where there
            // is storage: a hostile file can claim any length for nothing.
            while let Some(data) = file.next_data(offset)? {
                offset = offset.max(data - data % EXTENT_ALIGN);
                if offset + bytes.len() as u64 > length {
                    return Ok(extents);
                }
                read_at(file, offset, &mut bytes)?;
                if extent_header(&bytes).magic == EXTENT_MAGIC {
                    continue 'extents;
                }
                offset += EXTENT_ALIGN;
            }
            return Ok(extents);
        };
        let size = header.size.min(length - offset);
        if size < header.size {
            damage.push(format!(
                "the extent at byte {offset:#x} is cut off after {size} of {} bytes",
                header.size
            ));
        }
        extents.push(Extent {
            offset,
            size,
            kind,
            owner: header.owner,
            segment: header.segment,
            committed: header.committed,
        });
        offset += size.next_multiple_of(EXTENT_ALIGN);
    }
    Ok(extents)
}

/// Log records with their place in the file, which is their order.
type PlacedLog = Vec<(u64, u64, LogRecord)>;

/// What an extent has, but no more bytes than `most` and than the budget has left.
fn content(
    file: &mut impl ArenaFile,
    extent: &Extent,
    most: u64,
    budget: &mut u64,
) -> io::Result<Vec<u8>> {
    let length = extent.payload().min(most).min(*budget);
    *budget -= length;
    let mut bytes = vec![0; length as usize];
    read_at(file, extent.payload_offset(), &mut bytes)?;
    Ok(bytes)
}

fn read_log(
    file: &mut impl ArenaFile,
    extent: &Extent,
    budget: &mut u64,
    log: &mut PlacedLog,
    damage: &mut Vec<String>,
) -> io::Result<()> {
    let bytes = content(file, extent, extent.committed, budget)?;
    let mut rest = bytes.as_slice();
    while !rest.is_empty() {
        let place = extent.payload_offset() + (bytes.len() - rest.len()) as u64;
        let Some((time_ns, record, taken)) = LogRecord::decode(rest) else {
            damage.push(format!("the log cannot be read from byte {place:#x}"));
            break;
        };
        log.push((place, time_ns, record));
        rest = rest.get(taken..).unwrap_or_default();
    }
    Ok(())
}

/// Where each segment of the nodes of a thread lies that owns these extents: (offset of its first
/// node, bytes there).
fn segments_of(extents: &[&Extent]) -> [Option<(u64, u64)>; MAX_SEGMENTS] {
    let mut segments = [None; MAX_SEGMENTS];
    for extent in extents {
        let (segment, skipped) = match extent.kind {
            ExtentKind::Log | ExtentKind::Times | ExtentKind::Blocks | ExtentKind::Entries => {
                continue;
            }
            ExtentKind::Thread => (0, size_of::<ThreadRecord>() as u64),
            ExtentKind::Nodes => (extent.segment as usize, 0),
        };
        if let Some(place @ None) = segments.get_mut(segment) {
            let bytes = extent.payload().saturating_sub(skipped);
            *place = Some((extent.payload_offset() + skipped, bytes));
        }
    }
    segments
}

fn read_nodes(
    file: &mut impl ArenaFile,
    node_count: u32,
    segments: &[Option<(u64, u64)>; MAX_SEGMENTS],
    budget: &mut u64,
) -> io::Result<Vec<ArenaNode>> {
    const NODE: u64 = size_of::<Node>() as u64;
    let mut nodes = Vec::new();
    if node_count == 0 {
        return Ok(nodes);
    }
    let (last_segment, _) = locate(node_count - 1);
    for (number, place) in segments.iter().enumerate().take(last_segment as usize + 1) {
        let capacity = u64::from(segment_nodes(number as u32));
        let wanted = (u64::from(node_count) - nodes.len() as u64).min(capacity);
        let (offset, bytes) = place.unwrap_or_default();
        let present = wanted.min(bytes / NODE).min(*budget / NODE);
        *budget -= present * NODE;
        decode_nodes(file, offset, present, &mut nodes)?;
        let missing = wanted - present;
        // Nodes are numbered across segments, so what is missing before a later segment leaves
        // room; at the end it leaves nothing.
        let goes_on = segments[number + 1..].iter().any(Option::is_some);
        if missing > 0 && (!goes_on || missing > *budget / NODE) {
            break;
        }
        *budget -= missing * NODE;
        nodes.resize(nodes.len() + missing as usize, ArenaNode::default());
    }
    Ok(nodes)
}

/// The times in the extents of a thread, in their order.
fn read_times(
    file: &mut impl ArenaFile,
    extents: &[&Extent],
    budget: &mut u64,
) -> io::Result<Vec<TimeRecord>> {
    let mut times = Vec::new();
    for extent in extents {
        let bytes = content(file, extent, extent.committed, budget)?;
        times.extend(bytes.chunks_exact(size_of::<TimeRecord>()).map(|bytes| {
            let mut fields = Fields(bytes);
            TimeRecord { time_ns: fields.u64(), node: fields.u32(), samples: fields.u32() }
        }));
    }
    Ok(times)
}

/// The blocks of an extent that are in use.
fn read_blocks(
    file: &mut impl ArenaFile,
    extent: &Extent,
    budget: &mut u64,
    blocks: &mut Vec<BlockRecord>,
) -> io::Result<()> {
    let bytes = content(file, extent, u64::MAX, budget)?;
    let records = bytes.chunks_exact(size_of::<BlockRecord>()).map(|bytes| {
        let mut fields = Fields(bytes);
        let (address, samples) = (fields.u64(), fields.u64());
        BlockRecord { address, samples, thread: fields.u32(), node: fields.u32() }
    });
    blocks.extend(records.filter(|block| ![0, BlockRecord::TAKEN].contains(&block.address)));
    Ok(())
}

fn read_entries(
    file: &mut impl ArenaFile,
    extent: &Extent,
    budget: &mut u64,
    entries: &mut Vec<EntryRecord>,
) -> io::Result<()> {
    let room = (MOST_PHASES - entries.len()) * size_of::<EntryRecord>();
    let bytes = content(file, extent, room as u64, budget)?;
    entries.extend(bytes.chunks_exact(size_of::<EntryRecord>()).map(|bytes| {
        let mut fields = Fields(bytes);
        EntryRecord { time_ns: fields.u64(), function: fields.u32(), count: fields.u32() }
    }));
    Ok(())
}

fn decode_nodes(
    file: &mut impl ArenaFile,
    offset: u64,
    count: u64,
    nodes: &mut Vec<ArenaNode>,
) -> io::Result<()> {
    let mut bytes = vec![0; count as usize * size_of::<Node>()];
    read_at(file, offset, &mut bytes)?;
    nodes.extend(bytes.chunks_exact(size_of::<Node>()).map(|bytes| {
        let mut fields = Fields(bytes);
        let key = FrameKey::from_bits(fields.u64());
        let parent = fields.u32();
        let _search_tree_of_children = (fields.u32(), fields.u32(), fields.u32());
        ArenaNode { key, parent, samples: fields.u64(), edges: fields.u64() }
    }));
    Ok(())
}

fn read_at(file: &mut impl ArenaFile, offset: u64, bytes: &mut [u8]) -> io::Result<()> {
    if bytes.is_empty() {
        return Ok(());
    }
    file.seek(SeekFrom::Start(offset))?;
    file.read_exact(bytes)
}

/// Takes little-endian fields from the front of a record. The caller has checked the length; a
/// field past the end reads as zero.
struct Fields<'a>(&'a [u8]);

impl Fields<'_> {
    fn array<const N: usize>(&mut self) -> [u8; N] {
        match self.0.split_first_chunk() {
            Some((bytes, rest)) => {
                self.0 = rest;
                *bytes
            }
            None => [0; N],
        }
    }

    fn u32(&mut self) -> u32 {
        u32::from_le_bytes(self.array())
    }

    fn u64(&mut self) -> u64 {
        u64::from_le_bytes(self.array())
    }

    fn counters(&mut self) -> [u64; REASON_SLOTS] {
        std::array::from_fn(|_| self.u64())
    }
}

fn arena_header(bytes: &[u8]) -> ArenaHeader {
    let mut fields = Fields(bytes);
    ArenaHeader {
        magic: fields.array(),
        version: fields.u32(),
        pid: fields.u32(),
        parent_pid: fields.u32(),
        forked: fields.u32(),
        source_count: fields.u32(),
        flags: fields.u32(),
        start_unix_ns: fields.u64(),
        start_ns: fields.u64(),
        end_ns: fields.u64(),
        used: fields.u64(),
        threads: fields.u32(),
        rank_plus_one: fields.u32(),
        losses: fields.counters(),
        foreign_signals: fields.u64(),
        left_out: std::array::from_fn(|_| fields.u32()),
        left_out_names: std::array::from_fn(|_| fields.array()),
        cpu_before_ns: fields.u64(),
        cpu_ns: fields.u64(),
        unsampled_threads: fields.u64(),
        table_bytes: fields.u64(),
        private_bytes: fields.u64(),
        returned: fields.u64(),
        sources: std::array::from_fn(|_| SourceRecord {
            period: fields.u64(),
            kind: fields.u32(),
            dropped: fields.u32(),
            label: fields.array(),
            enabled_ns: fields.u64(),
            running_ns: fields.u64(),
        }),
        ranks: fields.u32(),
        local_ranks: fields.u32(),
    }
}

fn extent_header(bytes: &[u8]) -> ExtentHeader {
    let mut fields = Fields(bytes);
    ExtentHeader {
        magic: fields.u32(),
        kind: fields.u32(),
        size: fields.u64(),
        owner: fields.u32(),
        segment: fields.u32(),
        committed: fields.u64(),
    }
}

fn thread_record(bytes: &[u8]) -> ThreadRecord {
    let mut fields = Fields(bytes);
    ThreadRecord {
        tid: fields.u32(),
        index: fields.u32(),
        name: fields.array(),
        start_ns: fields.u64(),
        end_ns: fields.u64(),
        cpu_ns: fields.u64(),
        node_count: fields.u32(),
        max_depth: fields.u32(),
        signals: fields.u64(),
        delivered: fields.u64(),
        recorded: fields.u64(),
        returns: fields.u64(),
        lost_returns: fields.u64(),
        frames_unwound: fields.u64(),
        reused_paths: fields.u64(),
        losses: fields.counters(),
        partial: fields.counters(),
        cpu_before_ns: fields.u64(),
        earlier: fields.u64(),
        apart_ns: fields.u64(),
        late: fields.u64(),
        further: std::array::from_fn(|_| ShareRecord {
            signals: fields.u64(),
            delivered: fields.u64(),
            recorded: fields.u64(),
            partial: fields.u64(),
        }),
    }
}
