//! The hot path: where the cost goes, as far as it goes one way.
//!
//! From a row, follow the child with the greatest inclusive cost while it has at least a given
//! share of its parent's (hpcviewer's rule, with its 50 % as the usual share: HPCToolkit user's
//! manual, "Hot path analysis"). It ends where the cost is the row's own or splits up. Of a
//! comparison it can follow the difference instead: the child that differs most in the direction
//! in which its parent differs.

use super::row::{Cost, Row};
use super::tree::{Direction, RowId, RowTree};
use crate::refine::Refined;

/// The share of its parent's inclusive cost that keeps a child on the hot path, in percent.
pub const USUAL_SHARE: u32 = 50;

/// Rows that a hot path goes along at once. Each level that it opens takes memory, and recursion
/// may be a million levels deep.
pub const MOST_ROWS: usize = 4_000;

/// What a hot path follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Heat {
    /// Inclusive cost.
    Cost,
    /// What inclusive cost differs by, where two profiles are compared; else the same as cost.
    Difference,
}

impl Heat {
    fn of(self, refined: &Refined, row: &Row) -> i128 {
        match &refined.profile.comparison {
            Some(comparison) if self == Self::Difference => {
                comparison.delta(Cost::Inclusive.of_sides(row))
            }
            _ => i128::from(row.of(refined.metric).inclusive),
        }
    }
}

/// The rows of the hot path below `from`, without `from`, [`MOST_ROWS`] at most; empty where no
/// child is hot. Among equals the first by cost, then by name, is taken. `share` is in percent, 0
/// to 100.
pub fn hot_path<D: Direction>(
    tree: &mut RowTree<D>,
    refined: &Refined,
    from: RowId,
    share: u32,
    heat: Heat,
) -> Vec<RowId> {
    let mut path = Vec::new();
    let mut at = from;
    while path.len() < MOST_ROWS {
        tree.children(refined, at);
        let whole = heat.of(refined, tree.row(at));
        // What grew does not explain what shrank; where nothing is left over, both may.
        let part_of = |row| match heat.of(refined, tree.row(row)) {
            part if part.signum() * whole.signum() < 0 => 0,
            part => part.unsigned_abs(),
        };
        let children = tree.opened_children(at);
        let order = super::Sort::default();
        // In this order, the first one is the hottest, and the one that is taken among equals.
        let is_first = tree.begins_with_most(refined, order.key);
        let may_be = if is_first { &children[..children.len().min(1)] } else { children };
        let part = may_be.iter().map(|&row| part_of(row)).max().unwrap_or(0);
        let share = u128::from(share);
        if part == 0 || part.saturating_mul(100) < whole.unsigned_abs().saturating_mul(share) {
            break;
        }
        // Few can have so much, if a share was asked for; of a hundred thousand equal ones, names
        // would be far away.
        let hottest = may_be.iter().copied().filter(|&row| part_of(row) == part);
        let hottest = hottest.min_by(|&a, &b| order.compare(refined, tree.row(a), tree.row(b)));
        let Some(child) = hottest else { break };
        path.push(child);
        at = child;
    }
    path
}
