//! `fold`: everything from the first to the last match becomes the first.

use super::super::Refined;
use super::super::bits::Bits;
use super::super::children::node_number;
use super::super::column::Column;
use super::super::costs::{CostsOf, in_width};
use super::super::watch::{Cancelled, Watch};
use super::{add_up, out_of};
use crate::profile::{Count, FrameRef};

/// Moves each match below another one to the outermost; what lies between stays for the paths
/// that end there. Returns the samples that moved, too.
pub(super) fn fold<'p>(
    mut refined: Refined<'p>,
    frames: &Bits,
    watch: &Watch<'_>,
) -> Result<(Refined<'p>, u64), Cancelled> {
    let home = refined.workspace.nodes.clone();
    let mut parent = out_of(&mut refined.parent).take(&home);
    let moved = in_width!(
        &mut refined.costs,
        costs => fold_in(costs, &mut parent, &refined.frame, frames, watch)
    )?;
    refined.parent = Column::made(parent, &home);
    Ok((refined, moved))
}

fn fold_in<C: Count>(
    costs: &mut CostsOf<'_, C>,
    parent: &mut [u32],
    frame: &[FrameRef],
    frames: &Bits,
    watch: &Watch<'_>,
) -> Result<u64, Cancelled> {
    let mut exclusive = out_of(&mut costs.exclusive).take(&costs.home);
    // The outermost match at or above each node; 0 if there is none.
    let mut outermost = vec![0_u32; parent.len()];
    let mut folded = Bits::none(parent.len());
    let mut moved = 0;
    watch.forward(1..parent.len(), |nodes| {
        for node in nodes {
            let above = parent[node] as usize;
            let first = outermost[above];
            if folded.contains(above) {
                parent[node] = first;
            }
            if !frames.contains(frame[node].index()) {
                outermost[node] = first;
            } else if first == 0 {
                outermost[node] = node_number(node);
            } else {
                outermost[node] = first;
                folded.insert(node);
                parent[node] = first;
                let samples = std::mem::take(&mut exclusive[node]);
                exclusive[first as usize] += samples;
                moved += samples.into();
            }
        }
    })?;
    let mut inclusive = out_of(&mut costs.inclusive).into_empty(&costs.home);
    inclusive.extend_from_slice(&exclusive);
    add_up(parent, &mut inclusive, watch)?;
    costs.exclusive = Column::made(exclusive, &costs.home);
    costs.inclusive = Column::made(inclusive, &costs.home);
    Ok(moved)
}
