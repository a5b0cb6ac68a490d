//! `stop at`: what is below an outermost match is deleted.

use super::delete::delete;
use super::step::{Step, Transform, found};
use crate::refine::forest::bits::Bits;
use crate::refine::forest::error::Stop;
use crate::refine::forest::refined::Refined;
use crate::refine::lang::syntax::FramePattern;
use crate::refine::watch::Watch;

/// `stop at f`
pub(crate) struct StopAt<'s>(pub(crate) &'s FramePattern);

impl Transform for StopAt<'_> {
    fn run<'p>(&self, refined: Refined<'p>, watch: &Watch<'_>) -> Result<Step<'p>, Stop> {
        let (frames, effect) = found(&refined, self.0)?;
        let frame = refined.frame.clone();
        let mut closed = Bits::none(refined.node_count());
        let (refined, moved) = delete(refined, watch, |node, above| {
            let below = closed.contains(above);
            if below || frames.contains(frame[node].index()) {
                closed.insert(node);
            }
            below
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
