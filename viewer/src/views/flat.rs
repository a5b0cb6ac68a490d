//! The flat view: one row for each function, from wherever it was called.
//!
//! Inclusive cost is that of a function's *outermost* frames, since a recursive function's inner
//! frames are below its outer ones: Hall's maximal nodes (IEEE TSE 1995). Exclusive cost and edge
//! counts are additive and need no such care. Σ exclusive over all rows is what is shown.

use std::sync::Arc;

use super::peer_costs::PeerCosts;
use super::row::Row;
use super::sort::Sort;
use super::tally::{self, Tally};
use crate::refine::{Cancelled, Refined, Watch, in_width, unwatched};

/// A row for each function that has samples in it or below it, greatest exclusive cost first
/// when `sort` says so. Loops (`by loop`) are no functions: what they cost is their functions'.
/// O(nodes).
#[must_use]
pub fn flat(refined: &Refined, sort: Sort) -> Vec<Row> {
    let mut rows = unwatched(|watch| by_function(&refined.without_loops(watch)?, watch));
    sort.sort(refined, &mut rows);
    rows
}

/// A row for each function with samples, in order of their numbers; `has_children` says whether it
/// has a caller. Node 0 stands for no function; the root's function has a row only where refinement
/// left samples without any other frame.
pub(super) fn by_function(refined: &Refined, watch: &Watch<'_>) -> Result<Vec<Row>, Cancelled> {
    watch.begin(0, 1, tally::passes(refined), refined.node_count());
    let frame = &refined.frame[..];
    let (mut rows, _) = in_width!(&refined.costs, costs => tally::rows(refined, costs, |added| {
        Tally::by_frame(refined, added, watch, |_, node, _| Some(frame[node]))
    }))?;
    watch.end();
    if let Some(costs) = PeerCosts::of_sum(refined) {
        let mut made = costs.of_functions(watch)?;
        for row in &mut rows {
            row.over_ranks = made[row.function.index()].take().map(Arc::new);
        }
    }
    Ok(rows)
}
