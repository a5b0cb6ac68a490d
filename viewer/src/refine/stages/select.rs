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
    let mut taken = 0;
    let exclusive: Vec<u64> = refined
        .exclusive
        .iter()
        .enumerate()
        .map(|(node, &samples)| {
            let kept = if kept.contains(node) { samples } else { 0 };
            taken |= samples ^ kept;
            kept
        })
        .collect();
    if taken == 0 {
        return refined.clone();
    }
    let mut next = refined.clone();
    next.inclusive = inclusive(&refined.parent, &exclusive).into();
    next.exclusive = exclusive.into();
    with_edge_bounds(refined, next)
}

/// `next` with the edge counts of `before`, widened at nodes that lost samples.
pub(super) fn with_edge_bounds<'p>(before: &Refined<'p>, mut next: Refined<'p>) -> Refined<'p> {
    let count = next.node_count();
    let (mut low, mut high) = (Vec::with_capacity(count), Vec::with_capacity(count));
    let mut differing = 0;
    let inclusive = before.inclusive.iter().zip(&next.inclusive);
    let edges = before.edges_low.iter().zip(&before.edges_high);
    for ((&samples, &left), (&least, &greatest)) in inclusive.zip(edges) {
        let lost = samples - left;
        let greatest = if lost == 0 { greatest } else { greatest.min(left) };
        let least = least.saturating_sub(lost).min(greatest);
        low.push(least);
        high.push(greatest);
        differing |= greatest - least;
    }
    let high = Column::from(high);
    next.edges_low = if differing == 0 { high.clone() } else { low.into() };
    next.edges_high = high;
    next
}
