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
use crate::profile::FrameKind;

/// What is known of each node as it was before any samples were taken out.
#[derive(Clone, Debug)]
pub(super) struct Recorded<'p> {
    /// Least edge count.
    pub(super) low: Column<'p, u64>,
    /// Greatest edge count; the same column if all are exact.
    pub(super) high: Column<'p, u64>,
    /// Inclusive samples.
    pub(super) inclusive: Column<'p, u64>,
    /// Whether `low` says which nodes have edges ([`NO_EDGES`]), and not the kind of their frame:
    /// in a tree of callers, edges are those of the function that the path begins with.
    pub(super) marked: bool,
}

/// The count of a node that has none.
pub(super) const NO_EDGES: u64 = u64::MAX;

impl<'p> Recorded<'p> {
    /// Exact counts of the nodes whose frame is of a kind that is called.
    pub(super) fn of_kinds(edges: Column<'p, u64>, inclusive: Column<'p, u64>) -> Self {
        Self { low: edges.clone(), high: edges, inclusive, marked: false }
    }

    /// The bounds for a node of this kind that has so many inclusive samples now.
    pub(super) fn edges(&self, node: usize, kind: FrameKind, now: u64) -> Option<(u64, u64)> {
        let (low, high) = (self.low[node], self.high[node]);
        let has_edges = match kind {
            FrameKind::Root | FrameKind::Context => false,
            _ if self.marked => low != NO_EDGES,
            FrameKind::Call | FrameKind::Unknown => true,
            FrameKind::Inline | FrameKind::Partial => false,
        };
        let lost = self.inclusive[node].saturating_sub(now);
        has_edges.then(|| match lost {
            0 => (low, high),
            _ => {
                let high = high.min(now);
                (low.saturating_sub(lost).min(high), high)
            }
        })
    }
}
