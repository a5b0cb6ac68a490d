//! Selections: samples stay where they are or are taken out.

use super::super::Refined;
use super::super::bits::Bits;
use super::super::column::Column;
use super::super::watch::{Cancelled, Watch};
use super::{add_up, out_of};

/// Keeps the exclusive samples of these nodes. Their ancestors stay as structure.
pub(super) fn keep<'p>(
    mut refined: Refined<'p>,
    kept: &Bits,
    watch: &Watch<'_>,
) -> Result<Refined<'p>, Cancelled> {
    let counts = refined.workspace.counts.clone();
    let count = refined.node_count();
    // The old sums are not needed: their memory is used for the new ones, if nobody else has it.
    let mut inclusive = out_of(&mut refined.inclusive).into_empty(&counts);
    let left = |node: usize, samples: u64| if kept.contains(node) { samples } else { 0 };
    let exclusive = match out_of(&mut refined.exclusive).into_own() {
        Ok(mut own) => {
            watch.forward(0..count, |nodes| {
                for node in nodes {
                    own[node] = left(node, own[node]);
                    inclusive.push(own[node]);
                }
            })?;
            own
        }
        Err(shared) => {
            let mut exclusive = counts.empty(count);
            watch.forward(0..count, |nodes| {
                exclusive.extend(nodes.clone().map(|node| left(node, shared[node])));
                inclusive.extend_from_slice(&exclusive[nodes]);
            })?;
            exclusive
        }
    };
    add_up(&refined.parent, &mut inclusive, watch)?;
    refined.exclusive = Column::made(exclusive, &counts);
    refined.inclusive = Column::made(inclusive, &counts);
    Ok(refined)
}
