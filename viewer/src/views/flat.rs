//! The flat view: one row for each function, from wherever it was called.
//!
//! Inclusive cost is that of a function's *outermost* frames, since a recursive function's inner
//! frames are below its outer ones: Hall's maximal nodes (IEEE TSE 1995). Exclusive cost and edge
//! counts are additive and need no such care. Σ exclusive over all rows is what is shown.

use super::sort::Sort;
use super::{Counts, Edges, Row, first_of_other};
use crate::profile::{Count, Frame, FrameKind, FunctionRef};
use crate::refine::{Cancelled, CostsOf, Refined, Watch, depth_first, in_width};

/// A row for each function that has samples in it or below it, greatest exclusive cost first
/// when `sort` says so. O(nodes).
#[must_use]
pub fn flat(refined: &Refined<'_>, sort: Sort) -> Vec<Row> {
    // Nobody ends it.
    let mut rows = by_function(refined, &Watch::none()).unwrap_or_default();
    sort.sort(refined, &mut rows);
    rows
}

/// A row for each function with samples, in order of their numbers; `has_children` says whether it
/// has a caller. Node 0 stands for no function; the root's function has a row only where refinement
/// left samples without any other frame.
pub(super) fn by_function(refined: &Refined<'_>, watch: &Watch<'_>) -> Result<Vec<Row>, Cancelled> {
    watch.begin(0, 1, 1, refined.node_count());
    let rows = by_function_of(refined, watch, |_| true)?;
    watch.end();
    Ok(rows)
}

/// The same of some of the nodes: those for which `counts` says so. It is asked of all nodes, depth
/// first.
pub(super) fn by_function_of(
    refined: &Refined<'_>,
    watch: &Watch<'_>,
    counts: impl FnMut(usize) -> bool,
) -> Result<Vec<Row>, Cancelled> {
    in_width!(&refined.costs, costs => rows(refined, costs, watch, counts))
}

fn rows<C: Count>(
    refined: &Refined<'_>,
    costs: &CostsOf<'_, C>,
    watch: &Watch<'_>,
    mut counts: impl FnMut(usize) -> bool,
) -> Result<Vec<Row>, Cancelled> {
    let number = |frame: &Frame| frame.function.0 << KIND_BITS | frame.kind as u32;
    let frames: Vec<u32> = refined.frames.iter().map(number).collect();
    let first_of_other = first_of_other(refined) as usize;
    let mut sums = vec![Sums::<C>::default(); refined.functions.len()];
    // The sums of BASE, where two profiles are compared: its nodes come first.
    let mut of_base: Option<Vec<Sums<C>>> = None;
    // Samples on the nodes before.
    let mut before = C::default();
    depth_first(refined, watch, |node| {
        if node >= first_of_other && of_base.is_none() {
            of_base = Some(sums.clone());
        }
        let at = before;
        before += costs.exclusive[node];
        if !counts(node) {
            return;
        }
        let frame = frames[refined.frame[node].index()];
        let kind = frame & ((1 << KIND_BITS) - 1);
        let edges = costs.recorded_edges(node, KIND_OF[kind as usize]);
        let (exclusive, inclusive) = (costs.exclusive[node], costs.inclusive[node]);
        let sums = &mut sums[(frame >> KIND_BITS) as usize];
        sums.kinds |= 1 << kind | if refined.parent[node] != 0 { CALLED } else { 0 };
        sums.exclusive += exclusive;
        if at >= sums.until {
            sums.until = at + inclusive;
            sums.inclusive += inclusive;
        }
        if let Some((low, high)) = edges {
            sums.edges_low = sums.edges_low.saturating_add(low.into());
            sums.edges_high = sums.edges_high.saturating_add(high.into());
            sums.edge_samples = sums.edge_samples.saturating_add(inclusive.into());
        }
    })?;
    let has_edges = refined.profile.info.run.trampoline;
    // What OTHER has is the rest; nothing where all is one profile.
    let of_base = of_base.as_ref().unwrap_or(&sums);
    let row = |(function, (all, base)): (usize, (&Sums<C>, &Sums<C>))| {
        let kind = KINDS.into_iter().find(|kind| all.kinds & 1 << *kind as u32 != 0);
        // Function numbers fit: frames hold them in the same type.
        let row = Row::empty(FunctionRef(function as u32), kind.unwrap_or(FrameKind::Inline));
        let counts = all.counts(has_edges);
        Row {
            inclusive: counts.inclusive,
            exclusive: counts.exclusive,
            edges: counts.edges,
            edge_samples: if has_edges { all.edge_samples } else { 0 },
            has_children: all.kinds & CALLED != 0,
            other: all.without(base).counts(has_edges),
            ..row
        }
    };
    let found = sums.iter().zip(of_base).enumerate();
    Ok(found.filter(|(_, (sums, _))| sums.inclusive > C::default()).map(row).collect())
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

const _: () = {
    let mut number = 0;
    while number < KIND_OF.len() {
        assert!(KIND_OF[number] as usize == number);
        number += 1;
    }
};

/// Beside the kinds: that one of the function's frames has another above it.
const CALLED: u8 = 1 << 7;

/// What is added up for one function. Less than a row, and close together: the pass goes from one
/// function to another, and memory is what it waits for.
#[derive(Clone, Copy, Default)]
struct Sums<C> {
    /// How many samples are on the nodes before when the function's outermost frame has been left.
    until: C,
    inclusive: C,
    exclusive: C,
    /// The kinds of its frames, and [`CALLED`].
    kinds: u8,
    /// Least and greatest possible count. In a tree of callers, every node of a path has the edges
    /// of the function it begins with, so that the width of one node is too little for their sum.
    edges_low: u64,
    edges_high: u64,
    /// Inclusive samples of the nodes that have edges; each has some. Nodes below one another
    /// count again.
    edge_samples: u64,
}

impl<C: Count> Sums<C> {
    fn without(&self, other: &Self) -> Self {
        Self {
            inclusive: self.inclusive - other.inclusive,
            exclusive: self.exclusive - other.exclusive,
            edges_low: self.edges_low - other.edges_low,
            edges_high: self.edges_high - other.edges_high,
            edge_samples: self.edge_samples - other.edge_samples,
            ..*self
        }
    }

    fn counts(&self, has_edges: bool) -> Counts {
        let edges = match self.edge_samples {
            1.. if has_edges => Edges::Range { low: self.edges_low, high: self.edges_high },
            _ => Edges::None,
        };
        Counts { inclusive: self.inclusive.into(), exclusive: self.exclusive.into(), edges }
    }
}
