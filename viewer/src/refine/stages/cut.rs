//! `cut`: an outermost match and what is below it are deleted.

use super::delete::below_frames;
use super::step::{Step, Transform, found};
use crate::refine::forest::error::Stop;
use crate::refine::forest::refined::Refined;
use crate::refine::lang::syntax::FramePattern;
use crate::refine::watch::Watch;

/// `cut f`
pub(crate) struct Cut<'s>(pub(crate) &'s FramePattern);

impl Transform for Cut<'_> {
    fn run(&self, refined: Refined, watch: &Watch<'_>) -> Result<Step, Stop> {
        let (frames, effect) = found(&refined, self.0)?;
        let (refined, moved) = below_frames(refined, &frames, true, watch)?;
        Ok(Step { refined, moved, effect })
    }

    fn keeps_order(&self) -> bool {
        true
    }

    fn passes(&self, metrics: usize) -> usize {
        1 + metrics
    }
}
