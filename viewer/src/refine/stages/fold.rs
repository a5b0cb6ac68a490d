//! `fold`: everything from the first to the last match becomes the first.

use super::step::{Moved, Step, Transform, found, replace_samples};
use crate::profile::{Column, Count, FrameRef, Home};
use crate::refine::forest::bits::Bits;
use crate::refine::forest::children::node_number;
use crate::refine::forest::costs::{SampleColumns, in_width};
use crate::refine::forest::error::Stop;
use crate::refine::forest::recorded::Effect;
use crate::refine::forest::refined::Refined;
use crate::refine::lang::syntax::FramePattern;
use crate::refine::watch::{Cancelled, Watch};

/// `fold f`: each match below another one moves to the outermost; what lies between stays for the
/// paths that end there.
pub(crate) struct Fold<'s>(pub(crate) &'s FramePattern);

impl Transform for Fold<'_> {
    fn run(&self, mut refined: Refined, watch: &Watch<'_>) -> Result<Step, Stop> {
        let (frames, effect) = found(&refined, self.0)?;
        let home = refined.workspace.nodes.clone();
        let mut parent = std::mem::take(&mut refined.parent).take(&home);
        let folded = folded(&mut parent, &refined.frame, &frames, watch)?;
        let moved = in_width!(&mut refined.costs, costs => {
            let (samples, home) = costs.samples_mut();
            let moved = samples.map(|samples| move_up(samples, home, &parent, &folded, watch));
            moved.collect::<Result<Moved, _>>()
        })?;
        refined.timing.follow(|node| match folded.contains(node as usize) {
            true => Some(parent[node as usize]),
            false => Some(node),
        });
        refined.parent = Column::made(parent, &home);
        Ok(Step { refined, moved, effect: effect.max(Effect::TakesOut) })
    }

    fn keeps_order(&self) -> bool {
        false
    }

    fn passes(&self, metrics: usize) -> usize {
        1 + metrics
    }
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
    samples: &mut SampleColumns<C>,
    home: &Home<C>,
    parent: &[u32],
    folded: &Bits,
    watch: &Watch<'_>,
) -> Result<u64, Cancelled> {
    let mut exclusive = std::mem::take(&mut samples.exclusive).take(home);
    let mut moved = 0;
    watch.forward(0..parent.len(), |nodes| {
        folded.visit(nodes, |node| {
            let own = std::mem::take(&mut exclusive[node]);
            exclusive[parent[node] as usize] += own;
            moved += own.into();
        });
    })?;
    replace_samples(samples, exclusive, home, parent, watch)?;
    Ok(moved)
}
