//! `collapse`: matching frames whose function occurs higher on the path are deleted.

use super::delete::delete;
use super::step::{Step, Transform, found, of_functions_in};
use crate::profile::{Count, FunctionRef};
use crate::refine::forest::bits::Bits;
use crate::refine::forest::costs::{CostsOf, in_width};
use crate::refine::forest::error::Stop;
use crate::refine::forest::refined::Refined;
use crate::refine::forest::walk::depth_first;
use crate::refine::lang::syntax::FramePattern;
use crate::refine::watch::{Cancelled, Watch};

/// `collapse f`
pub(crate) struct Collapse<'s>(pub(crate) &'s FramePattern);

impl Transform for Collapse<'_> {
    fn run(&self, refined: Refined, watch: &Watch<'_>) -> Result<Step, Stop> {
        let (frames, effect) = found(&refined, self.0)?;
        let by_function = of_functions_in(&refined, &frames);
        let repeated =
            in_width!(&refined.costs, costs => repeated(&refined, costs, &frames, watch))?;
        let (refined, moved) = delete(refined, watch, |node, _| repeated.contains(node))?;
        Ok(Step { refined, moved, effect: effect.max(by_function) })
    }

    fn keeps_order(&self) -> bool {
        true
    }

    fn passes(&self, metrics: usize) -> usize {
        2 + metrics
    }
}

/// Nodes of these frames whose function occurs above them.
fn repeated<C: Count>(
    refined: &Refined,
    costs: &CostsOf<C>,
    frames: &Bits,
    watch: &Watch<'_>,
) -> Result<Bits, Cancelled> {
    let function: Vec<FunctionRef> = refined.frames.iter().map(|frame| frame.function).collect();
    let mut repeated = Bits::none(refined.node_count());
    // Samples on the nodes before, and for each function how many there are when its outermost
    // frame has been left.
    let mut before = C::default();
    let mut until = vec![C::default(); refined.functions.len()];
    depth_first(refined, watch, |node| {
        let frame = refined.frame[node].index();
        let until = &mut until[function[frame].index()];
        if before >= *until {
            *until = before + costs.all.inclusive[node];
        } else if frames.contains(frame) {
            repeated.insert(node);
        }
        before += costs.all.exclusive[node];
    })?;
    Ok(repeated)
}
