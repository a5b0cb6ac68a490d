//! The flat view: one row for each function, from wherever it was called.
//!
//! Inclusive cost is that of a function's *outermost* frames, since a recursive function's inner
//! frames are below its outer ones: Hall's maximal nodes (IEEE TSE 1995). Exclusive cost and edge
//! counts are additive and need no such care. Σ exclusive over all rows is what is shown.

use super::Row;
use super::child_index::ChildIndex;
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
///
/// One walk over the tree, which needs no recursion, so that depth is bounded by memory alone.
pub(super) fn by_function(refined: &Refined<'_>, index: &ChildIndex) -> ByFunction {
    /// A row, and how many frames of its function are on the path to the present node. Together,
    /// since a node needs both and they are where the walk misses the cache.
    struct Entry {
        row: Row,
        on_path: u32,
    }
    let function = |function| {
        // Function numbers fit: frames hold them in the same type.
        let row = Row::empty(FunctionRef(function as u32), FrameKind::Inline);
        Entry { row, on_path: 0 }
    };
    let mut entries: Vec<Entry> = (0..refined.functions.len()).map(function).collect();
    let mut outermost = vec![false; refined.parent.len()];
    // The siblings still to come at each level, and the function of the node they are below.
    let mut levels = vec![(index.of(0).iter(), FunctionRef::ROOT)];
    while let Some((siblings, above)) = levels.last_mut() {
        let Some(&node) = siblings.next() else {
            let left = &mut entries[above.index()];
            left.on_path = left.on_path.saturating_sub(1);
            levels.pop();
            continue;
        };
        let n = node as usize;
        let frame = refined.frames[refined.frame[n].index()];
        let Entry { row, on_path } = &mut entries[frame.function.index()];
        outermost[n] = *on_path == 0;
        row.add(refined, node, frame.kind, outermost[n]);
        row.has_children |= levels.len() > 1;
        // A function that was both called and inlined is shown as called.
        if frame.kind != FrameKind::Inline {
            row.kind = frame.kind;
        }
        let children = index.of(node);
        if !children.is_empty() {
            *on_path += 1;
            levels.push((children.iter(), frame.function));
        }
    }
    let rows = entries.into_iter().map(|entry| entry.row).filter(|row| row.inclusive > 0);
    ByFunction { rows: rows.collect(), outermost }
}
