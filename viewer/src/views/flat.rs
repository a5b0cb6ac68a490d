//! The flat view: one row for each function, from wherever it was called.
//!
//! Inclusive cost is that of a function's *outermost* frames, since a recursive function's inner
//! frames are below its outer ones: Hall's maximal nodes (IEEE TSE 1995). Exclusive cost and edge
//! counts are additive and need no such care. Σ exclusive over all rows is what is shown.

use super::child_index::ChildIndex;
use super::sort::Sort;
use super::{Edges, Row};
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

/// Sums over functions. The row of the root is there only if it has samples of its own, which
/// refinement gives it when it hides a whole path.
pub(super) fn by_function(refined: &Refined<'_>, index: &ChildIndex) -> ByFunction {
    let mut rows: Vec<Row> = (0..refined.functions.len())
        .map(|function| Row {
            // Function numbers fit: frames hold them in the same type.
            function: FunctionRef(function as u32),
            kind: FrameKind::Inline,
            inclusive: 0,
            exclusive: 0,
            edges: Edges::None,
            has_children: false,
        })
        .collect();
    let mut outermost = vec![false; refined.parent.len()];
    let on_path = vec![core::cell::Cell::new(0u32); rows.len()];
    let frame_of = |node: u32| refined.frames[refined.frame[node as usize].0 as usize];
    index.walk(
        |node| {
            let n = node as usize;
            let frame = frame_of(node);
            let f = frame.function.0 as usize;
            let row = &mut rows[f];
            if on_path[f].get() == 0 {
                outermost[n] = true;
                row.inclusive += refined.inclusive[n];
            }
            on_path[f].set(on_path[f].get() + 1);
            row.exclusive += refined.exclusive[n];
            row.edges = row.edges.plus(Edges::of_node(refined, node));
            row.has_children |= node != 0 && refined.parent[n] != 0;
            // A function that was both called and inlined is shown as called.
            if frame.kind != FrameKind::Inline {
                row.kind = frame.kind;
            }
        },
        |node| {
            let count = &on_path[frame_of(node).function.0 as usize];
            count.set(count.get() - 1);
        },
    );
    rows.retain(
        |row| {
            if row.kind == FrameKind::Root { row.exclusive > 0 } else { row.inclusive > 0 }
        },
    );
    ByFunction { rows, outermost }
}
