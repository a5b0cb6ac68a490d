//! The flat view: one row for each function, from wherever it was called.
//!
//! Inclusive cost is that of a function's *outermost* frames, since a recursive function's inner
//! frames are below its outer ones: Hall's maximal nodes (IEEE TSE 1995). Exclusive cost and edge
//! counts are additive and need no such care. Σ exclusive over all rows is what is shown.

use super::sort::Sort;
use super::{Row, first_of_other};
use crate::profile::{FrameKind, FunctionRef};
use crate::refine::{Refined, Visitor, walk};

/// A row for each function that has samples in it or below it, greatest exclusive cost first
/// when `sort` says so. O(nodes).
#[must_use]
pub fn flat(refined: &Refined<'_>, sort: Sort) -> Vec<Row> {
    let mut rows = by_function(refined).rows;
    rows.sort_unstable_by(|a, b| sort.compare(refined, a, b));
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
pub(super) fn by_function(refined: &Refined<'_>) -> ByFunction {
    let frames: Vec<(FunctionRef, FrameKind)> =
        refined.frames.iter().map(|frame| (frame.function, frame.kind)).collect();
    let function = |function| {
        // Function numbers fit: frames hold them in the same type.
        let row = Row::empty(FunctionRef(function as u32), FrameKind::Inline);
        Entry { row, on_path: 0 }
    };
    let sums = walk(refined, || Sums {
        refined,
        frames: &frames,
        entries: (0..refined.functions.len()).map(function).collect(),
        outermost: vec![false; refined.node_count()],
        first_of_other: first_of_other(refined),
    });
    let rows = sums.entries.into_iter().map(|entry| entry.row).filter(|row| row.inclusive > 0);
    ByFunction { rows: rows.collect(), outermost: sums.outermost }
}

/// A row, and how many frames of its function are on the path to the present node. Together,
/// since a node needs both and they are where the walk misses the cache.
struct Entry {
    row: Row,
    on_path: u32,
}

struct Sums<'r, 'p> {
    refined: &'r Refined<'p>,
    /// Function and kind of each frame.
    frames: &'r [(FunctionRef, FrameKind)],
    entries: Vec<Entry>,
    outermost: Vec<bool>,
    first_of_other: u32,
}

impl Visitor for Sums<'_, '_> {
    fn enter(&mut self, node: u32, depth: usize) {
        let n = node as usize;
        let (function, kind) = self.frames[self.refined.frame[n].index()];
        let Entry { row, on_path } = &mut self.entries[function.index()];
        self.outermost[n] = *on_path == 0;
        row.add(self.refined, node, *on_path == 0, self.first_of_other);
        row.has_children |= depth > 0;
        // A function that was both called and inlined is shown as called.
        if kind != FrameKind::Inline {
            row.kind = kind;
        }
        *on_path += 1;
    }

    fn leave(&mut self, node: u32) {
        let (function, _) = self.frames[self.refined.frame[node as usize].index()];
        self.entries[function.index()].on_path -= 1;
    }
}
