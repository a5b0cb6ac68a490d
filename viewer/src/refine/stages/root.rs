//! `root at`: paths that begin at a match.

use super::super::Refined;
use super::super::bits::Bits;
use super::relocate::has;
use crate::profile::inclusive;

/// Strips what is above the first match of each path, or the last one; takes out paths without.
pub(super) fn root_at<'p>(refined: &Refined<'p>, frames: &Bits, last: bool) -> Refined<'p> {
    let mut parent = refined.parent.to_vec();
    let mut exclusive = refined.exclusive.to_vec();
    // Nodes at or below a match; node 0 never is.
    let mut inside = Bits::none(parent.len());
    exclusive[0] = 0;
    for node in 1..parent.len() {
        let below = inside.contains(refined.parent[node] as usize);
        let matches = has(refined, frames, node);
        if matches && (last || !below) {
            parent[node] = 0;
        }
        if matches || below {
            inside.insert(node);
        } else {
            exclusive[node] = 0;
        }
    }
    let mut next = refined.clone();
    next.inclusive = inclusive(&parent, &exclusive).into();
    next.parent = parent.into();
    next.exclusive = exclusive.into();
    next
}
