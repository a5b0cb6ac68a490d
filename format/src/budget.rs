//! What a profile may take in memory: its tables as they are read, and what they expand to.
//!
//! A few bytes can stand for very much: a block of equal nodes compresses 255 to 1, and every node
//! of an address with 500 inlined functions becomes 500 rows. So there is one limit for all of it,
//! which grows with the file. Reading charges each block before anything is allocated, and the
//! expansion is charged before anybody is handed the profile. The writer leaves blocks uncompressed
//! while what it has written is too small for the profile, and refuses what no reader would take.

use std::sync::Arc;

use crate::error::ErrorKind;
use crate::ids::FrameId;
use crate::kind::BlockKind;
use crate::profile::{
    Account, EarlierThreads, Epoch, Frame, Function, InLoop, Loop, MergedRun, Module, ModuleFile,
    Phase, Process, Profile, RankSums, SampleTime, SourceFile, Spread, SummedRun, TailCall, Thread,
    Tree,
};
use crate::violation::{Fault, Violation};

/// Bytes of memory that a profile may take however small its file is: 384 MiB, or five million
/// nodes.
pub const FLOOR: u64 = 384 << 20;
/// Bytes of memory that a profile may take besides, for each byte of its file. Nodes of recorded
/// programs take a third of that or less.
pub const PER_BYTE: u64 = 512;
/// Most bytes of memory that any profile may take: 8 GiB, or 119 million nodes.
pub const CEILING: u64 = 8 << 30;

/// Most nodes that any profile may have.
pub const MOST_NODES: u64 = CEILING / (NODE + SOURCE_NODE + COUNTS * NARROW);

/// Source-level frames that are kept for one address. Compilers stop far below (GCC's
/// `max-inline-recursive-depth` is 8, LLVM inlines chains of a few dozen).
pub const MAX_INLINED: usize = 512;

/// Bytes that a node takes in the columns that are read.
const NODE: u64 = 2 * size_of::<u32>() as u64 + 2 * size_of::<u64>() as u64;
/// Bytes that a node takes besides while nodes are read: its place in the path of the last one,
/// which grows by doubling, and is as long as the nodes are many if each is below the one before.
/// What is charged of each node when a profile is loaded is more, and comes after that.
const PATH: u64 = 2 * size_of::<u32>() as u64;
const _: () = assert!(PATH <= SOURCE_NODE + COUNTS * NARROW, "loading takes more than the path");
/// Bytes that a source-level node takes, besides counts: parent, frame, and its place among the
/// children of a view.
const SOURCE_NODE: u64 = 16;
/// Its counts, with those that views add.
const COUNTS: u64 = 8;
/// The same of each further metric.
const FURTHER_COUNTS: u64 = 4;
/// Bytes of a count where all samples, or returns, are fewer than 2^32.
const NARROW: u64 = 4;
/// Bytes of a count where they are not.
const WIDE: u64 = 8;
/// Bytes that each node of a sum takes besides: its place among the spreads, whether it counts
/// anything, the node of all ranks that it is, and its entry in a map by path, which grows by
/// doubling.
const SUMMED_NODE: u64 = 4 + 1 + 8 + 2 * (12 + 1);
/// The same of each node that it becomes: its place.
const SUMMED_SOURCE_NODE: u64 = 4;
/// Bytes that a function or frame takes besides its name, with its entry in a table by value.
const ROW: u64 = 128;
/// Copies of a name at most: the one that tables share, and in what orders and finds names.
const COPIES: u64 = 3;
/// The largest value that one encoded byte can become: an empty vector.
const EXPANSION: u64 = size_of::<Vec<u8>>() as u64;
/// The same for samples of a further metric, which take two bytes or more.
const SHARE: u64 = size_of::<(u32, u64)>() as u64 / 2;

/// The same for source files, of which a module takes one byte or more, and a stretch two: their
/// vectors grow by doubling while they are read.
const SOURCE: u64 = 2 * size_of::<u32>() as u64;

/// Bytes that the time of a sample takes: as it is read; while it is checked, or by its node later,
/// and ordered by that.
const TIME: u64 = 2 * size_of::<SampleTime>() as u64;

/// Memory that is still allowed.
#[derive(Clone, Debug)]
pub(crate) struct Budget {
    limit: u64,
    /// What was charged; more than `limit` only after a charge was refused.
    used: u64,
    /// What is taken besides while blocks are read: the [path](PATH). Nothing once the expansion
    /// was charged, which takes more.
    while_read: u64,
    is_expanded: bool,
}

/// Bytes of memory that the profile of a file of this many bytes may take.
fn limit_of(bytes: u64) -> u64 {
    FLOOR.saturating_add(bytes.saturating_mul(PER_BYTE)).min(CEILING)
}

impl Budget {
    fn of(limit: u64) -> Self {
        Self { limit, used: 0, while_read: 0, is_expanded: false }
    }

    /// That of a file of this many bytes.
    pub(crate) fn of_file(bytes: usize) -> Self {
        Self::of(limit_of(bytes as u64))
    }

    /// The largest there is.
    pub(crate) fn largest() -> Self {
        Self::of(CEILING)
    }

    /// Checks that a file of this many bytes may ask for what was charged.
    pub(crate) fn fits(&self, bytes: u64) -> Result<(), ErrorKind> {
        let limit = limit_of(bytes);
        if self.used <= limit { Ok(()) } else { Err(ErrorKind::TooMuch { limit }) }
    }

    /// Charges what a block takes when it is read: `count` elements from `decoded` bytes, of a
    /// profile of several metrics or of one.
    pub(crate) fn block(
        &mut self,
        kind: BlockKind,
        count: u32,
        decoded: u32,
        several: bool,
    ) -> Result<(), ErrorKind> {
        let element = match kind {
            BlockKind::Run | BlockKind::Metrics | BlockKind::End => 0,
            // Shared ones begin with two counts, and the allocator adds a header and rounds up.
            BlockKind::Strings => size_of::<Arc<str>>() + 2 * size_of::<usize>() + 24,
            BlockKind::Modules => size_of::<Module>(),
            BlockKind::Processes => size_of::<Process>(),
            BlockKind::Threads => size_of::<Thread>(),
            BlockKind::Epochs => size_of::<Epoch>(),
            BlockKind::Frames => size_of::<Frame>(),
            BlockKind::Functions => size_of::<Function>(),
            BlockKind::Sites => size_of::<u32>(),
            BlockKind::Trees => size_of::<Tree>(),
            BlockKind::Nodes => NODE as usize,
            BlockKind::Runs => size_of::<MergedRun>(),
            BlockKind::Accounts => size_of::<Account>(),
            BlockKind::Loops => size_of::<Loop>(),
            BlockKind::InLoops => size_of::<InLoop>(),
            BlockKind::TailCalls => size_of::<TailCall>(),
            BlockKind::Files => size_of::<ModuleFile>(),
            BlockKind::Stages => size_of::<String>(),
            BlockKind::Sources => size_of::<SourceFile>(),
            BlockKind::Times => TIME as usize,
            BlockKind::Phases => size_of::<Phase>(),
            BlockKind::SummedRuns => size_of::<SummedRun>(),
            BlockKind::Spreads => size_of::<Spread>(),
            BlockKind::Earlier => size_of::<EarlierThreads>(),
            BlockKind::JobSizes => size_of::<u32>(),
        };
        let decoded = u64::from(decoded);
        let contents = match kind {
            BlockKind::Nodes if several => decoded.saturating_mul(SHARE),
            // Their elements have a fixed size.
            BlockKind::Frames
            | BlockKind::Functions
            | BlockKind::Trees
            | BlockKind::Nodes
            | BlockKind::Loops
            | BlockKind::InLoops
            | BlockKind::Files
            | BlockKind::Times
            | BlockKind::Spreads
            | BlockKind::Earlier => 0,
            BlockKind::Strings => decoded,
            // Text, modules of a byte or more, and stretches of two.
            BlockKind::Sources => decoded.saturating_mul(SOURCE),
            _ => decoded.saturating_mul(EXPANSION),
        };
        self.add(u64::from(count).saturating_mul(element as u64).saturating_add(contents));
        if kind == BlockKind::Nodes && !self.is_expanded {
            self.while_read += PATH * u64::from(count);
        }
        if self.used.saturating_add(self.while_read) <= self.limit {
            return Ok(());
        }
        Err(ErrorKind::TooMuch { limit: self.limit })
    }

    fn add(&mut self, bytes: u64) {
        self.used = self.used.saturating_add(bytes);
    }

    /// Charges what a valid profile becomes when it is loaded: a function for each name in each
    /// module, a name made up for each address without one, and for each node as many as there are
    /// functions inlined at its address, of [`source_node`] bytes each.
    ///
    /// # Errors
    /// The element at which the limit is passed, and what all together take.
    pub(crate) fn expansion(
        &mut self,
        profile: &Profile,
        source_node: u64,
    ) -> Result<(), Violation> {
        self.expand(profile, source_node, Ask::EachNode)
    }

    /// Checks that as much is allowed. Goes over the nodes only if these might take too much, if
    /// each was the one that takes most.
    ///
    /// # Errors
    /// As [`expansion`](Self::expansion).
    pub(crate) fn admits(mut self, profile: &Profile, source_node: u64) -> Result<(), Violation> {
        self.expand(profile, source_node, Ask::AllTogether)
    }

    fn expand(&mut self, profile: &Profile, source_node: u64, ask: Ask) -> Result<(), Violation> {
        let length = |id: crate::ids::StringId| {
            profile.strings.get(id.index()).map_or(0, |text| text.len() as u64)
        };
        (self.while_read, self.is_expanded) = (0, true);
        let mut charges = Charges { budget: self, first: None };
        for (element, function) in profile.functions.iter().enumerate() {
            let name = length(function.name);
            let bytes = name.saturating_mul(COPIES).saturating_add(ROW);
            charges.add(bytes, BlockKind::Functions, element, "bytes of its name", name);
        }
        // The file name of a module is what its addresses without names are called by.
        let base = |path: &Arc<str>| (path.len() - path.rfind('/').map_or(0, |at| at + 1)) as u64;
        let bases: Vec<u64> = profile
            .modules
            .iter()
            .map(|module| profile.strings.get(module.path.index()).map_or(0, base))
            .collect();
        let rows = |frame: usize| {
            profile.sites.rows(FrameId::from_index(frame)).len().clamp(1, MAX_INLINED) as u64
        };
        for (element, frame) in profile.frames.iter().enumerate() {
            let count = rows(element);
            charges.add(count * ROW, BlockKind::Sites, element, "functions at its address", count);
            let named = !profile.sites.rows(FrameId::from_index(element)).is_empty();
            let module = frame.module.filter(|_| !named);
            if let Some(&name) = module.and_then(|module| bases.get(module.index())) {
                let bytes = name.saturating_mul(COPIES);
                charges.add(bytes, BlockKind::Frames, element, "bytes of its module's name", name);
            }
        }
        let structure = &profile.structure;
        for (element, found) in structure.loops.iter().enumerate() {
            // It is called by its line, or else by its address.
            let name = match found.file {
                Some(file) if found.line > 0 => length(file),
                _ => bases.get(found.module.index()).copied().unwrap_or(0),
            };
            let bytes = name.saturating_mul(COPIES).saturating_add(2 * ROW);
            charges.add(bytes, BlockKind::Loops, element, "bytes of its name", name);
        }
        for (element, call) in structure.tail_calls.iter().enumerate() {
            let count = call.via.len() as u64;
            charges.add(count * ROW, BlockKind::TailCalls, element, "functions", count);
        }
        let [summed, summed_source] = match profile.is_sum() {
            true => [SUMMED_NODE, SUMMED_SOURCE_NODE],
            false => [0; 2],
        };
        let node = source_node + summed_source;
        // With the loops that a view may show, each of which is a node then.
        let mut nodes_of: Vec<u64> = (0..profile.frames.len()).map(rows).collect();
        for entry in &structure.in_loops {
            nodes_of[entry.frame.index()] += 1;
        }
        let nodes = &profile.nodes;
        // Of a node with a spread of one metric there are those of all.
        let metrics = profile.further.len() as u64 + 1;
        let sums = metrics * size_of::<RankSums>() as u64;
        let most_left = structure.tail_calls.iter().map(|call| call.via.len() as u64).max();
        let most = nodes_of.iter().max().unwrap_or(&1) + most_left.unwrap_or(0);
        let most = most.saturating_mul(node).saturating_add(summed);
        let of_nodes = most.saturating_mul(nodes.len() as u64);
        let of_spreads = sums.saturating_mul(profile.spreads.len() as u64);
        if ask == Ask::AllTogether && charges.have_room(of_nodes.saturating_add(of_spreads)) {
            return Ok(());
        }
        let is_tail_callee = structure.tail_callees(profile.frames.len());
        for (element, (frame, &parent)) in nodes.frame.iter().zip(&nodes.parent).enumerate() {
            let left = match is_tail_callee[frame.index()] {
                true => structure.tail_calls_between(nodes.frame[parent as usize], *frame).len(),
                false => 0,
            };
            let count = nodes_of[frame.index()] + left as u64;
            let bytes = count.saturating_mul(node).saturating_add(summed);
            charges.add(bytes, BlockKind::Nodes, element, "functions at its address", count);
        }
        let mut before = None;
        for (element, spread) in profile.spreads.iter().enumerate() {
            if before.replace(spread.node) != Some(spread.node) {
                charges.add(sums, BlockKind::Spreads, element, "metrics", metrics);
            }
        }
        let Charges { budget: Self { limit, used: needed, .. }, first } = charges;
        let Some((table, element, what, amount)) = first else { return Ok(()) };
        let fault = Fault::Memory { what, amount, needed: *needed, limit: *limit };
        Err(Violation { table, element, fault })
    }
}

/// How nodes are asked for what they take.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ask {
    /// One after the other.
    EachNode,
    /// All together, as if each was the one that takes most; each, if that is too much.
    AllTogether,
}

/// What the elements of a profile are charged.
struct Charges<'b> {
    budget: &'b mut Budget,
    /// The first element that the limit does not allow, and how much of what it has.
    first: Option<(BlockKind, usize, &'static str, u64)>,
}

impl Charges<'_> {
    fn add(
        &mut self,
        bytes: u64,
        table: BlockKind,
        element: usize,
        what: &'static str,
        amount: u64,
    ) {
        self.budget.add(bytes);
        if self.budget.used > self.budget.limit {
            self.first.get_or_insert((table, element, what, amount));
        }
    }

    /// Whether all so far is allowed, and so many bytes more.
    fn have_room(&self, bytes: u64) -> bool {
        self.budget.used.saturating_add(bytes) <= self.budget.limit
    }
}

/// Bytes that a source-level node of the profile takes. O(nodes); relies on nothing.
pub(crate) fn source_node(profile: &Profile) -> u64 {
    let sum = |counts: &[u64]| counts.iter().fold(0_u64, |sum, count| sum.saturating_add(*count));
    let most = sum(&profile.nodes.samples).max(sum(&profile.nodes.edges));
    source_node_of(most, profile.further.len())
}

/// The same of a profile with so many samples, or returns if these are more, and further metrics.
pub(crate) fn source_node_of(most: u64, further: usize) -> u64 {
    let count = if most < u32::MAX.into() { NARROW } else { WIDE };
    SOURCE_NODE + count * (COUNTS + FURTHER_COUNTS * further as u64)
}

#[cfg(test)]
mod tests {
    use crate::address::FrameKind;

    use super::*;

    /// Nodes of an address with one function, and so many of one with 512.
    fn profile(nodes: usize, deep: usize) -> Profile {
        let frame = Frame { kind: FrameKind::Call, module: None, offset: 0 };
        let mut profile = Profile { frames: vec![frame; 2], ..Profile::default() };
        profile.sites.first = vec![0, 1, 1 + MAX_INLINED as u32];
        for node in 0..nodes {
            profile.nodes.push(0, FrameId(u32::from(node < deep)), 1, 0);
        }
        profile
    }

    /// While nodes are read, each may be below the one before; the writer, which has charged more
    /// for each before, is not charged for that.
    #[test]
    fn the_path_of_the_last_node_is_charged_while_nodes_are_read() {
        let most = (FLOOR / (NODE + PATH)) as u32;
        let read = |blocks: &[u32]| {
            let mut budget = Budget::of_file(0);
            let mut blocks = blocks.iter();
            blocks.try_for_each(|&count| budget.block(BlockKind::Nodes, count, 0, false)).is_ok()
        };
        assert!(read(&[most]) && read(&[most / 2, most - most / 2]));
        for refused in [&[most + 1][..], &[most / 2, most - most / 2 + 1]] {
            assert!(!read(refused), "{refused:?}");
        }
        let mut budget = Budget::of_file(0);
        budget.expansion(&Profile::default(), 0).unwrap();
        budget.block(BlockKind::Nodes, most + 1, 0, false).unwrap();
    }

    #[test]
    fn what_is_admitted_is_what_may_be_charged() {
        // All of them would take 491 MB if each had 512 functions.
        let nodes = 20_000;
        for (deep, is_allowed) in [(0, true), (1, true), (10_000, true), (nodes, false)] {
            let (profile, mut budget) = (profile(nodes, deep), Budget::of_file(0));
            let admitted = budget.clone().admits(&profile, source_node(&profile));
            let charged = budget.expansion(&profile, source_node(&profile));
            assert_eq!((admitted, charged.is_ok()), (charged, is_allowed), "{deep}");
        }
    }
}
