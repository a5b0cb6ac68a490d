//! The flat view: one row for each function, from wherever it was called.
//!
//! Inclusive cost is that of a function's *outermost* frames, since a recursive function's inner
//! frames are below its outer ones: Hall's maximal nodes (IEEE TSE 1995). Exclusive cost and edge
//! counts are additive and need no such care. Σ exclusive over all rows is what is shown.

use super::Row;
use super::child_index::{ChildIndex, Visit};
use super::sort::Sort;
use crate::profile::{FrameKind, FunctionRef};
use crate::refine::Refined;

/// A row for each function that has samples in it or below it, greatest exclusive cost first
/// when `sort` says so. O(nodes).
#[must_use]
pub fn flat(refined: &Refined<'_>, index: &ChildIndex, sort: Sort) -> Vec<Row> {
    let mut rows = by_function(refined, index).rows;
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
pub(super) fn by_function(refined: &Refined<'_>, index: &ChildIndex) -> ByFunction {
    let mut rows: Vec<Row> = (0..refined.functions.len())
        // Function numbers fit: frames hold them in the same type.
        .map(|function| Row::empty(FunctionRef(function as u32), FrameKind::Inline))
        .collect();
    let mut outermost = vec![false; refined.parent.len()];
    // How many frames of each function are on the path to the present node.
    let mut on_path = vec![0u32; rows.len()];
    let frame_of = |node: u32| refined.frames[refined.frame[node as usize].index()];
    index.walk(|step| match step {
        Visit::Enter(node) => {
            let n = node as usize;
            let frame = frame_of(node);
            let f = frame.function.index();
            let row = &mut rows[f];
            outermost[n] = on_path[f] == 0;
            on_path[f] += 1;
            row.add(refined, node, outermost[n]);
            row.has_children |= refined.parent[n] != 0;
            // A function that was both called and inlined is shown as called.
            if frame.kind != FrameKind::Inline {
                row.kind = frame.kind;
            }
        }
        Visit::Leave(node) => on_path[frame_of(node).function.index()] -= 1,
    });
    rows.retain(|row| row.inclusive > 0);
    ByFunction { rows, outermost }
}
