//! `fold`: everything from the first to the last match becomes the first.

use super::super::Refined;
use super::super::bits::Bits;
use super::super::children::node_number;
use super::super::column::{Column, Home};
use super::super::costs::{ShareMut, in_width};
use super::super::watch::{Cancelled, Watch};
use super::{Moved, add_up, out_of};
use crate::profile::{Count, FrameRef};

/// Moves each match below another one to the outermost; what lies between stays for the paths
/// that end there. Returns the samples that moved, too.
pub(super) fn fold<'p>(
    mut refined: Refined<'p>,
    frames: &Bits,
    watch: &Watch<'_>,
) -> Result<(Refined<'p>, Moved), Cancelled> {
    let home = refined.workspace.nodes.clone();
    let mut parent = out_of(&mut refined.parent).take(&home);
    let folded = folded(&mut parent, &refined.frame, frames, watch)?;
    let moved = in_width!(&mut refined.costs, costs => {
        let (shares, home) = costs.shares_mut();
        let moved = shares.map(|share| move_up(share, home, &parent, &folded, watch));
        moved.collect::<Result<Moved, _>>()
    })?;
    refined.parent = Column::made(parent, &home);
    Ok((refined, moved))
}

/// The matches below another one, which have the outermost as parent from now on.
fn folded(
    parent: &mut [u32],
    frame: &[FrameRef],
    frames: &Bits,
    watch: &Watch<'_>,
) -> Result<Bits, Cancelled> {
    // The outermost match at or above each node; 0 if there is none.
    let mut outermost = vec![0_u32; parent.len()];
    let mut folded = Bits::none(parent.len());
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
            }
        }
    })?;
    Ok(folded)
}

/// Moves the samples of the nodes that are folded to their parents; returns how many.
fn move_up<C: Count>(
    share: ShareMut<'_, '_, C>,
    home: &Home<C>,
    parent: &[u32],
    folded: &Bits,
    watch: &Watch<'_>,
) -> Result<u64, Cancelled> {
    let mut exclusive = out_of(share.exclusive).take(home);
    let mut moved = 0;
    watch.forward(0..parent.len(), |nodes| {
        folded.visit(nodes, |node| {
            let samples = std::mem::take(&mut exclusive[node]);
            exclusive[parent[node] as usize] += samples;
            moved += samples.into();
        });
    })?;
    let mut inclusive = out_of(share.inclusive).into_empty(home);
    inclusive.extend_from_slice(&exclusive);
    add_up(parent, &mut inclusive, watch)?;
    *share.exclusive = Column::made(exclusive, home);
    *share.inclusive = Column::made(inclusive, home);
    Ok(moved)
}
