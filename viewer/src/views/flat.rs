//! The flat view: one row for each function, from wherever it was called.
//!
//! Inclusive cost is that of a function's *outermost* frames, since a recursive function's inner
//! frames are below its outer ones: Hall's maximal nodes (IEEE TSE 1995). Exclusive cost and edge
//! counts are additive and need no such care. Σ exclusive over all rows is what is shown.

use super::sort::Sort;
use super::{Counts, Edges, Row, first_of_other};
use crate::profile::{Frame, FrameKind, FunctionRef};
use crate::refine::{Cancelled, Refined, Visitor, Watch, walk};

/// A row for each function that has samples in it or below it, greatest exclusive cost first
/// when `sort` says so. O(nodes).
#[must_use]
pub fn flat(refined: &Refined<'_>, sort: Sort) -> Vec<Row> {
    // Nobody ends it.
    let mut rows = by_function(refined, &Watch::none()).map_or(Vec::new(), |found| found.rows);
    sort.sort(refined, &mut rows);
    rows
}

/// What one pass over all nodes finds out about functions.
pub(super) struct ByFunction {
    /// A row for each function with samples; `has_children` says whether it has a caller.
    pub(super) rows: Vec<Row>,
    /// For each node, whether no node above it is of the same function.
    pub(super) outermost: Vec<bool>,
}

/// Sums over functions. Node 0 stands for no function; the root's function has a row only where
/// refinement left samples without any other frame.
pub(super) fn by_function(
    refined: &Refined<'_>,
    watch: &Watch<'_>,
) -> Result<ByFunction, Cancelled> {
    watch.begin(0, 1, 1, refined.node_count());
    let functions = refined.functions.len();
    let number = |frame: &Frame| frame.function.0 << KIND_BITS | frame.kind as u32;
    let frames: Vec<u32> = refined.frames.iter().map(number).collect();
    let first_of_other = first_of_other(refined);
    let found = walk(refined, watch, || Summing {
        refined,
        frames: &frames,
        on_path: vec![0; functions],
        kinds: vec![0; functions],
        all: vec![Sums::default(); functions],
        other: vec![Sums::default(); if first_of_other < u32::MAX { functions } else { 0 }],
        uncertain: vec![[0; 2]; functions],
        outermost: vec![false; refined.node_count()],
        first_of_other,
    })?;
    watch.end();
    let row = |(function, sums): (usize, &Sums)| {
        let all = found.counts(function, sums, false);
        let none = Sums::default();
        let other = found.other.get(function).unwrap_or(&none);
        let kinds = found.kinds[function];
        let kind = KINDS.into_iter().find(|kind| kinds & 1 << *kind as u32 != 0);
        // Function numbers fit: frames hold them in the same type.
        let row = Row::empty(FunctionRef(function as u32), kind.unwrap_or(FrameKind::Inline));
        Row {
            inclusive: all.inclusive,
            exclusive: all.exclusive,
            edges: all.edges,
            edge_samples: if all.edges == Edges::None { 0 } else { sums.edge_samples },
            has_children: kinds & CALLED != 0,
            other: found.counts(function, other, true),
            ..row
        }
    };
    let rows = found.all.iter().enumerate().filter(|(_, sums)| sums.inclusive > 0).map(row);
    Ok(ByFunction { rows: rows.collect(), outermost: found.outermost })
}

/// A frame's function and kind in one number.
const KIND_BITS: u32 = 3;

/// Kinds of frames, the one by which a function of several kinds is shown first: a function that
/// was both called and inlined is shown as called.
const KINDS: [FrameKind; 6] = [
    FrameKind::Call,
    FrameKind::Unknown,
    FrameKind::Partial,
    FrameKind::Context,
    FrameKind::Root,
    FrameKind::Inline,
];

/// The same, by number.
const KIND_OF: [FrameKind; 6] = [
    FrameKind::Call,
    FrameKind::Inline,
    FrameKind::Unknown,
    FrameKind::Partial,
    FrameKind::Root,
    FrameKind::Context,
];

/// Beside the kinds: that one of the function's frames has another above it.
const CALLED: u8 = 1 << 7;

/// What is added up for one function. Less than a row, and half a cache line: the walk goes from
/// one function to another, and memory is what it waits for.
#[derive(Clone, Copy, Default)]
struct Sums {
    inclusive: u64,
    exclusive: u64,
    /// Greatest possible count.
    edges: u64,
    /// Inclusive samples of the nodes that have edges; each has some.
    edge_samples: u64,
}

impl Sums {
    fn add(&mut self, other: &Self) {
        self.inclusive += other.inclusive;
        self.exclusive += other.exclusive;
        self.edges += other.edges;
        self.edge_samples += other.edge_samples;
    }
}

struct Summing<'r, 'p> {
    refined: &'r Refined<'p>,
    /// Function and kind of each frame.
    frames: &'r [u32],
    /// For each function, how many of its frames are on the present path.
    on_path: Vec<u32>,
    /// For each function, the kinds of its frames, and [`CALLED`].
    kinds: Vec<u8>,
    all: Vec<Sums>,
    /// Those of OTHER, where two profiles are compared.
    other: Vec<Sums>,
    /// For each function, how much less its edge counts may be: of all nodes, and of OTHER's.
    uncertain: Vec<[u64; 2]>,
    outermost: Vec<bool>,
    first_of_other: u32,
}

impl Summing<'_, '_> {
    /// What a row shows of sums; of OTHER's, if so asked.
    fn counts(&self, function: usize, sums: &Sums, of_other: bool) -> Counts {
        let less = self.uncertain[function][usize::from(of_other)];
        let edges = match sums.edge_samples {
            1.. if self.refined.profile.info.run.trampoline => {
                Edges::Range { low: sums.edges - less, high: sums.edges }
            }
            _ => Edges::None,
        };
        Counts { inclusive: sums.inclusive, exclusive: sums.exclusive, edges }
    }
}

impl Visitor for Summing<'_, '_> {
    fn enter(&mut self, node: u32, depth: usize) -> u32 {
        let n = node as usize;
        let frame = self.frames[self.refined.frame[n].index()];
        let function = (frame >> KIND_BITS) as usize;
        let kind = KIND_OF[(frame & ((1 << KIND_BITS) - 1)) as usize];
        let on_path = &mut self.on_path[function];
        let outermost = *on_path == 0;
        *on_path += 1;
        self.outermost[n] = outermost;
        self.kinds[function] |= 1 << kind as u32 | if depth > 0 { CALLED } else { 0 };

        let inclusive = self.refined.inclusive(n);
        let edges = self.refined.edges_of(n, kind);
        let (low, high) = edges.unwrap_or_default();
        let sums = Sums {
            inclusive: if outermost { inclusive } else { 0 },
            exclusive: self.refined.exclusive(n),
            edges: high,
            edge_samples: if edges.is_some() { inclusive } else { 0 },
        };
        self.all[function].add(&sums);
        if node >= self.first_of_other {
            self.other[function].add(&sums);
        }
        if low < high {
            let [all, other] = &mut self.uncertain[function];
            *all += high - low;
            *other += if node >= self.first_of_other { high - low } else { 0 };
        }
        frame >> KIND_BITS
    }

    fn leave(&mut self, function: u32) {
        self.on_path[function as usize] -= 1;
    }
}
