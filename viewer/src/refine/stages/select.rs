//! Selections: samples stay where they are or are taken out.
//!
//! The edge count of a node that loses samples is no longer known exactly. With S samples before,
//! S′ after and L = S − S′ lost, of e returned activations at least e − L and at most e are among
//! those still seen, and each of these has at least one of the S′ samples:
//! `max(0, e − L) ≤ e′ ≤ min(e, S′)`. A node that loses nothing keeps its count.

use super::super::bits::Bits;
use super::super::{Column, Refined};
use crate::profile::inclusive;

/// Keeps the exclusive samples of these nodes. Their ancestors stay as structure.
pub(super) fn keep<'p>(refined: &Refined<'p>, kept: &Bits) -> Refined<'p> {
    let exclusive: Vec<u64> = refined
        .exclusive
        .iter()
        .enumerate()
        .map(|(node, &samples)| if kept.contains(node) { samples } else { 0 })
        .collect();
    if exclusive[..] == refined.exclusive[..] {
        return refined.clone();
    }
    let mut next = refined.clone();
    next.inclusive = inclusive(&refined.parent, &exclusive).into();
    next.exclusive = exclusive.into();
    with_edge_bounds(refined, next)
}

/// `next` with the edge counts of `before`, widened at nodes that lost samples.
pub(super) fn with_edge_bounds<'p>(before: &Refined<'p>, mut next: Refined<'p>) -> Refined<'p> {
    let lost = |node: usize| before.inclusive[node] - next.inclusive[node];
    let high: Vec<u64> = (before.edges_high.iter().enumerate())
        .map(|(node, &edges)| match lost(node) {
            0 => edges,
            _ => edges.min(next.inclusive[node]),
        })
        .collect();
    let low: Vec<u64> = (before.edges_low.iter().enumerate())
        .map(|(node, &edges)| edges.saturating_sub(lost(node)).min(high[node]))
        .collect();
    let high = Column::from(high);
    next.edges_low = if low[..] == high[..] { high.clone() } else { low.into() };
    next.edges_high = high;
    next
}
