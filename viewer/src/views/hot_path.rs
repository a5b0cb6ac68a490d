//! The hot path: where the cost goes, as far as it goes one way.
//!
//! From a row, follow the child with the greatest inclusive cost while it has at least a given
//! share of its parent's (hpcviewer's rule, with its 50 % as the usual share: HPCToolkit user's
//! manual, "Hot path analysis"). It ends where the cost is the row's own or splits up.

use super::tree::{Direction, RowId, RowTree};
use crate::refine::Refined;

/// The share of its parent's inclusive cost that keeps a child on the hot path, in percent.
pub const USUAL_SHARE: u32 = 50;

/// The rows of the hot path below `from`, without `from`; empty where no child is hot.
/// Among equals the first by name is taken. `share` is in percent, 0 to 100.
pub fn hot_path<D: Direction>(
    tree: &mut RowTree<D>,
    refined: &Refined<'_>,
    from: RowId,
    share: u32,
) -> Vec<RowId> {
    let mut path = Vec::new();
    let mut at = from;
    loop {
        tree.children(refined, at);
        let children = tree.opened_children(at).iter().copied();
        let order = super::Sort::default();
        let hottest = children.min_by(|&a, &b| order.compare(refined, tree.row(a), tree.row(b)));
        let Some(child) = hottest else { return path };
        let (part, whole) = (tree.row(child).inclusive, tree.row(at).inclusive);
        if part == 0 || u128::from(part) * 100 < u128::from(whole) * u128::from(share) {
            return path;
        }
        path.push(child);
        at = child;
    }
}
