//! Edge counts after refinement: exact, or between two bounds, without a column of their own.
//!
//! The edge count of a node that loses samples is no longer known exactly. With S samples before,
//! S′ after and L = S − S′ lost, of e returned activations at least e − L and at most e are among
//! those still seen, and each of these has at least one of the S′ samples:
//! `max(0, e − L) ≤ e′ ≤ min(e, S′)`. A node that loses nothing keeps its count.
//!
//! What a node loses in several stages adds up, and no stage gives a node samples that were not
//! below it before. So the bounds follow from what was recorded and from what the node has now,
//! however many stages were between, and are computed where they are looked at.

use super::column::Column;
use crate::profile::{Count, FrameKind};

/// What is known of each node as it was before any samples were taken out.
#[derive(Clone, Debug)]
pub(super) struct Recorded<'p, C> {
    /// Least edge count.
    pub(super) low: Column<'p, C>,
    /// Greatest edge count; the same column if all are exact.
    pub(super) high: Column<'p, C>,
    /// Inclusive samples.
    pub(super) inclusive: Column<'p, C>,
    /// Whether `low` says which nodes have edges ([`Count::MAX`]: none), and not the kind of their frame:
    /// in a tree of callers, edges are those of the function that the path begins with.
    pub(super) marked: bool,
}

impl<'p, C: Count> Recorded<'p, C> {
    /// Exact counts of the nodes whose frame is of a kind that is called.
    pub(super) fn of_kinds(edges: Column<'p, C>, inclusive: Column<'p, C>) -> Self {
        Self { low: edges.clone(), high: edges, inclusive, marked: false }
    }

    /// No counts for so many nodes.
    pub(super) fn none(nodes: usize) -> Self {
        let none: Column<'p, C> = vec![C::MAX; nodes].into();
        Self { low: none.clone(), high: none.clone(), inclusive: none, marked: true }
    }

    /// Whether no node has more edges than samples.
    pub(super) fn is_bounded(&self) -> bool {
        let counts = self.high.iter().zip(&self.inclusive);
        counts
            .into_iter()
            .all(|(&edges, &samples)| edges <= samples || (self.marked && edges == C::MAX))
    }

    /// The counts of all nodes whose frame is of a kind that has edges, if nothing has made them
    /// less exact since they were recorded.
    pub(super) fn exact(&self, inclusive: &Column<'p, C>) -> Option<&Column<'p, C>> {
        let is_whole = self.low.is(&self.high) && self.inclusive.is(inclusive);
        (is_whole && !self.marked).then_some(&self.low)
    }

    /// The bounds for a node of this kind that has so many inclusive samples now.
    pub(super) fn edges(&self, node: usize, kind: FrameKind, now: C) -> Option<(C, C)> {
        let (low, high) = (self.low[node], self.high[node]);
        let has_edges = match kind {
            FrameKind::Root | FrameKind::Context => false,
            _ if self.marked => low != C::MAX,
            kind => is_called(kind),
        };
        let before = self.inclusive[node];
        has_edges.then(|| {
            if before <= now {
                return (low, high);
            }
            let lost = before - now;
            let high = high.min(now);
            (if low > lost { (low - lost).min(high) } else { C::default() }, high)
        })
    }
}

/// Whether frames of this kind are called and return.
pub(super) fn is_called(kind: FrameKind) -> bool {
    matches!(kind, FrameKind::Call | FrameKind::Unknown)
}
