//! `cut`: an outermost match and what is below it are deleted.

use super::delete::delete;
use super::step::{Step, Transform, found};
use crate::refine::forest::bits::Bits;
use crate::refine::forest::error::Stop;
use crate::refine::forest::refined::Refined;
use crate::refine::lang::syntax::FramePattern;
use crate::refine::watch::Watch;

/// `cut f`
pub(crate) struct Cut<'s>(pub(crate) &'s FramePattern);

impl Transform for Cut<'_> {
    fn run<'p>(&self, refined: Refined<'p>, watch: &Watch<'_>) -> Result<Step<'p>, Stop> {
        let (frames, effect) = found(&refined, self.0)?;
        let frame = refined.frame.clone();
        let mut closed = Bits::none(refined.node_count());
        let (refined, moved) = delete(refined, watch, |node, above| {
            let here = closed.contains(above) || frames.contains(frame[node].index());
            if here {
                closed.insert(node);
            }
            here
        })?;
        Ok(Step { refined, moved, effect })
    }

    fn keeps_order(&self) -> bool {
        true
    }

    fn passes(&self, metrics: usize) -> usize {
        1 + metrics
    }
}
