//! Stages that delete frames: the samples of a deleted frame, and what it called, move to the
//! nearest frame kept above it.
//!
//! They are prefix-stable: what happens to a frame depends on the frames at or above it alone. A
//! frame that is kept then keeps all its samples, so that no sums are made anew, and its exact
//! edge count.

use super::step::Moved;
use crate::profile::{Column, Count, FrameRef, FunctionRef, Home};
use crate::refine::forest::bits::Bits;
use crate::refine::forest::children::node_number;
use crate::refine::forest::costs::{SampleColumns, in_width};
use crate::refine::forest::refined::Refined;
use crate::refine::watch::{Cancelled, Watch};

/// The forest after frames were deleted, and the samples that moved.
pub(crate) type Done = Result<(Refined, Moved), Cancelled>;

/// Deletes what is below these nodes, of which none is below another.
pub(crate) fn stop_below(refined: Refined, mut nodes: Bits, watch: &Watch<'_>) -> Done {
    delete(refined, watch, |node, above| {
        let below = nodes.contains(above);
        if below {
            nodes.insert(node);
        }
        below
    })
}

/// Deletes what is below nodes of these frames, and the nodes themselves if `with_frames`.
pub(crate) fn below_frames(
    refined: Refined,
    frames: &Bits,
    with_frames: bool,
    watch: &Watch<'_>,
) -> Done {
    let frame = refined.frame.clone();
    let mut closed = Bits::none(refined.node_count());
    delete(refined, watch, |node, above| {
        let is_below = closed.contains(above);
        let is_match = frames.contains(frame[node].index());
        if is_below || is_match {
            closed.insert(node);
        }
        is_below || (with_frames && is_match)
    })
}

/// Deletes all members of a run but the first.
pub(crate) fn runs(refined: Refined, frames: &Bits, watch: &Watch<'_>) -> Done {
    let frame = refined.frame.clone();
    delete(refined, watch, |node, above| {
        frames.contains(frame[node].index()) && frames.contains(frame[above].index())
    })
}

/// Deletes frames whose function, as `function` has it for each frame, is their caller's.
pub(crate) fn runs_of_one(refined: Refined, function: &[FunctionRef], watch: &Watch<'_>) -> Done {
    let frame = refined.frame.clone();
    delete(refined, watch, |node, above| {
        let (here, above) = (frame[node].index(), frame[above].index());
        function[here] == function[above] && here != FrameRef::ROOT.index()
    })
}

/// Deletes the nodes that `deleted` says, called for each node and the one above it in order.
///
/// A node that is deleted gets the node that has its samples now as parent; any node above would
/// do, since it is not shown any more. So where the samples of a node's parent are is known from
/// the parent alone. Where nothing is above a deleted node, it stays as the holder of the samples
/// that have no frame left, and is called `<root>`; what it called begins new paths.
pub(crate) fn delete(
    mut refined: Refined,
    watch: &Watch<'_>,
    deleted: impl FnMut(usize, usize) -> bool,
) -> Done {
    let workspace = refined.workspace.clone();
    let mut parent = std::mem::take(&mut refined.parent).take(&workspace.nodes);
    let mut holders: Vec<u32> = Vec::new();
    let gone = gone(&mut parent, &mut holders, watch, deleted)?;
    let moved = in_width!(&mut refined.costs, costs => {
        let (samples, home) = costs.samples_mut();
        let moved = samples.map(|samples| move_up(samples, home, &parent, &gone, watch));
        moved.collect::<Result<Moved, _>>()
    })?;
    refined.timing.follow(|node| match parent[node as usize] {
        // A holder keeps what is its own.
        target if target != 0 && gone.contains(node as usize) => Some(target),
        _ => Some(node),
    });
    if !holders.is_empty() {
        let mut frame = std::mem::take(&mut refined.frame).take(&workspace.frames);
        for holder in holders {
            frame[holder as usize] = FrameRef::ROOT;
        }
        refined.frame = Column::made(frame, &workspace.frames);
    }
    refined.parent = Column::made(parent, &workspace.nodes);
    Ok((refined, moved))
}

/// The nodes that [`delete`] deletes; notes which of them hold samples without a frame.
fn gone(
    parent: &mut [u32],
    holders: &mut Vec<u32>,
    watch: &Watch<'_>,
    mut deleted: impl FnMut(usize, usize) -> bool,
) -> Result<Bits, Cancelled> {
    let mut gone = Bits::none(parent.len());
    watch.forward(1..parent.len(), |nodes| {
        for node in nodes {
            let above = parent[node];
            // Where the samples of the node above are: itself, if it is kept, or a holder's.
            let target = match parent[above as usize] {
                _ if !gone.contains(above as usize) => above,
                0 => above,
                target => target,
            };
            if deleted(node, above as usize) {
                gone.insert(node);
                parent[node] = target;
                if target == 0 {
                    holders.push(node_number(node));
                }
            } else {
                parent[node] = if gone.contains(target as usize) { 0 } else { target };
            }
        }
    })?;
    Ok(gone)
}

/// Moves the samples of nodes that are gone to their parents; returns how many. Those that have
/// none are holders.
fn move_up<C: Count>(
    samples: &mut SampleColumns<C>,
    home: &Home<C>,
    parent: &[u32],
    gone: &Bits,
    watch: &Watch<'_>,
) -> Result<u64, Cancelled> {
    let mut exclusive = std::mem::take(&mut samples.exclusive).take(home);
    let mut inclusive = std::mem::take(&mut samples.inclusive).take(home);
    let mut moved = 0;
    watch.forward(0..parent.len(), |nodes| {
        gone.visit(nodes, |node| {
            let own = exclusive[node];
            moved += own.into();
            let target = parent[node] as usize;
            if target == 0 {
                inclusive[node] = own;
                return;
            }
            exclusive[node] = C::default();
            inclusive[node] = C::default();
            exclusive[target] += own;
            if gone.contains(target) {
                inclusive[target] += own;
            }
        });
    })?;
    samples.exclusive = Column::made(exclusive, home);
    samples.inclusive = Column::made(inclusive, home);
    Ok(moved)
}
