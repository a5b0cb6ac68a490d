//! The two sides of a comparison, BASE and OTHER, in a refined forest.

use super::refined::Refined;

/// Samples shown of BASE and of OTHER, where two profiles are compared; O(nodes) then, and all
/// samples are BASE's otherwise.
#[must_use]
pub fn shown_of_sides(refined: &Refined) -> [u64; 2] {
    if let Some(known) = refined.shown_of_sides {
        return known;
    }
    let first = first_of_other(refined) as usize;
    let nodes = first.min(refined.node_count())..refined.node_count();
    let other = nodes.map(|node| refined.exclusive(node)).sum();
    [refined.shown - other, other]
}

/// The first node of OTHER, where two profiles are compared: its streams come last.
pub(crate) fn first_of_other(refined: &Refined) -> u32 {
    let Some(comparison) = &refined.profile.comparison else { return u32::MAX };
    let mut streams = refined.streams.iter();
    streams
        .find(|stream| stream.process >= comparison.first_other)
        .map_or(u32::MAX, |stream| stream.nodes.start)
}
