//! Stages that delete frames: the samples of a deleted frame, and what it called, move to the
//! nearest frame kept above it.
//!
//! They are prefix-stable: what happens to a frame depends on the frames at or above it alone. A
//! frame that is kept then keeps all its samples, so that no sums are made anew, and its exact
//! edge count.

use super::super::Refined;
use super::super::bits::Bits;
use super::super::children::{depth_first, node_number};
use super::super::column::{Column, Home};
use super::super::costs::{CostsOf, ShareMut, in_width};
use super::super::watch::{Cancelled, Watch};
use super::{Moved, out_of};
use crate::profile::{Count, FrameRef, FunctionRef};

/// The forest after frames were deleted, and the samples that moved.
type Done<'p> = Result<(Refined<'p>, Moved), Cancelled>;

/// Deletes these frames.
pub(super) fn hide<'p>(refined: Refined<'p>, frames: &Bits, watch: &Watch<'_>) -> Done<'p> {
    let frame = refined.frame.clone();
    delete(refined, watch, |node, _| frames.contains(frame[node].index()))
}

/// Deletes what is below an outermost match.
pub(super) fn stop_at<'p>(refined: Refined<'p>, frames: &Bits, watch: &Watch<'_>) -> Done<'p> {
    let frame = refined.frame.clone();
    let mut closed = Bits::none(refined.node_count());
    delete(refined, watch, |node, above| {
        let below = closed.contains(above);
        if below || frames.contains(frame[node].index()) {
            closed.insert(node);
        }
        below
    })
}

/// Deletes what is below these nodes, of which none is below another.
pub(super) fn stop_below<'p>(refined: Refined<'p>, mut nodes: Bits, watch: &Watch<'_>) -> Done<'p> {
    delete(refined, watch, |node, above| {
        let below = nodes.contains(above);
        if below {
            nodes.insert(node);
        }
        below
    })
}

/// Deletes an outermost match and what is below it.
pub(super) fn cut<'p>(refined: Refined<'p>, frames: &Bits, watch: &Watch<'_>) -> Done<'p> {
    let frame = refined.frame.clone();
    let mut closed = Bits::none(refined.node_count());
    delete(refined, watch, |node, above| {
        let here = closed.contains(above) || frames.contains(frame[node].index());
        if here {
            closed.insert(node);
        }
        here
    })
}

/// Deletes matching frames whose function occurs higher on the path.
pub(super) fn collapse<'p>(refined: Refined<'p>, frames: &Bits, watch: &Watch<'_>) -> Done<'p> {
    let repeated = in_width!(&refined.costs, costs => repeated(&refined, costs, frames, watch))?;
    delete(refined, watch, |node, _| repeated.contains(node))
}

/// Nodes of these frames whose function occurs above them.
fn repeated<C: Count>(
    refined: &Refined<'_>,
    costs: &CostsOf<'_, C>,
    frames: &Bits,
    watch: &Watch<'_>,
) -> Result<Bits, Cancelled> {
    let function = functions(refined);
    let mut repeated = Bits::none(refined.node_count());
    // Samples on the nodes before, and for each function how many there are when its outermost
    // frame has been left.
    let mut before = C::default();
    let mut until = vec![C::default(); refined.functions.len()];
    depth_first(refined, watch, |node| {
        let frame = refined.frame[node].index();
        let until = &mut until[function[frame].index()];
        if before >= *until {
            *until = before + costs.inclusive[node];
        } else if frames.contains(frame) {
            repeated.insert(node);
        }
        before += costs.exclusive[node];
    })?;
    Ok(repeated)
}

/// Deletes matching frames directly below a frame of the same function.
pub(super) fn collapse_run<'p>(refined: Refined<'p>, frames: &Bits, watch: &Watch<'_>) -> Done<'p> {
    let frame = refined.frame.clone();
    let function = functions(&refined);
    delete(refined, watch, |node, above| {
        let (here, above) = (frame[node].index(), frame[above].index());
        frames.contains(here) && function[here] == function[above]
    })
}

/// Deletes all members of a run but the first.
pub(super) fn runs<'p>(refined: Refined<'p>, frames: &Bits, watch: &Watch<'_>) -> Done<'p> {
    let frame = refined.frame.clone();
    delete(refined, watch, |node, above| {
        frames.contains(frame[node].index()) && frames.contains(frame[above].index())
    })
}

/// Deletes frames whose function, as `function` has it for each frame, is their caller's.
pub(super) fn runs_of_one<'p>(
    refined: Refined<'p>,
    function: &[FunctionRef],
    watch: &Watch<'_>,
) -> Done<'p> {
    let frame = refined.frame.clone();
    delete(refined, watch, |node, above| {
        let (here, above) = (frame[node].index(), frame[above].index());
        function[here] == function[above] && here != FrameRef::ROOT.index()
    })
}

/// The function of each frame.
fn functions(refined: &Refined<'_>) -> Vec<FunctionRef> {
    refined.frames.iter().map(|frame| frame.function).collect()
}

/// Deletes the nodes that `deleted` says, called for each node and the one above it in order.
///
/// A node that is deleted gets the node that has its samples now as parent; any node above would
/// do, since it is not shown any more. So where the samples of a node's parent are is known from
/// the parent alone. Where nothing is above a deleted node, it stays as the holder of the samples
/// that have no frame left, and is called `<root>`; what it called begins new paths.
fn delete<'p>(
    mut refined: Refined<'p>,
    watch: &Watch<'_>,
    deleted: impl FnMut(usize, usize) -> bool,
) -> Done<'p> {
    let workspace = refined.workspace.clone();
    let mut parent = out_of(&mut refined.parent).take(&workspace.nodes);
    let mut holders: Vec<u32> = Vec::new();
    let gone = gone(&mut parent, &mut holders, watch, deleted)?;
    let moved = in_width!(&mut refined.costs, costs => {
        let (shares, home) = costs.shares_mut();
        let moved = shares.map(|share| move_up(share, home, &parent, &gone, watch));
        moved.collect::<Result<Moved, _>>()
    })?;
    if !holders.is_empty() {
        let mut frame = out_of(&mut refined.frame).take(&workspace.frames);
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
    share: ShareMut<'_, '_, C>,
    home: &Home<C>,
    parent: &[u32],
    gone: &Bits,
    watch: &Watch<'_>,
) -> Result<u64, Cancelled> {
    let mut exclusive = out_of(share.exclusive).take(home);
    let mut inclusive = out_of(share.inclusive).take(home);
    let mut moved = 0;
    watch.forward(0..parent.len(), |nodes| {
        gone.visit(nodes, |node| {
            let samples = exclusive[node];
            moved += samples.into();
            let target = parent[node] as usize;
            if target == 0 {
                inclusive[node] = samples;
                return;
            }
            exclusive[node] = C::default();
            inclusive[node] = C::default();
            exclusive[target] += samples;
            if gone.contains(target) {
                inclusive[target] += samples;
            }
        });
    })?;
    *share.exclusive = Column::made(exclusive, home);
    *share.inclusive = Column::made(inclusive, home);
    Ok(moved)
}
