//! `hide`: frames are deleted.

use super::delete::delete;
use super::step::{Step, Transform, found};
use crate::refine::forest::error::Stop;
use crate::refine::forest::refined::Refined;
use crate::refine::lang::syntax::FramePattern;
use crate::refine::watch::Watch;

/// `hide f`
pub(crate) struct Hide<'s>(pub(crate) &'s FramePattern);

impl Transform for Hide<'_> {
    fn run(&self, refined: Refined, watch: &Watch<'_>) -> Result<Step, Stop> {
        let (frames, effect) = found(&refined, self.0)?;
        let frame = refined.frame.clone();
        let (refined, moved) =
            delete(refined, watch, |node, _| frames.contains(frame[node].index()))?;
        Ok(Step { refined, moved, effect })
    }

    fn keeps_order(&self) -> bool {
        true
    }

    fn passes(&self, metrics: usize) -> usize {
        1 + metrics
    }
}
