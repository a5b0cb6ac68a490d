//! `collapse-run`: matching frames directly below a frame of the same function are deleted.

use super::delete::delete;
use super::step::{Step, Transform, found, of_functions_in};
use crate::profile::FunctionRef;
use crate::refine::forest::error::Stop;
use crate::refine::forest::refined::Refined;
use crate::refine::lang::syntax::FramePattern;
use crate::refine::watch::Watch;

/// `collapse-run f`
pub(crate) struct CollapseRun<'s>(pub(crate) &'s FramePattern);

impl Transform for CollapseRun<'_> {
    fn run(&self, refined: Refined, watch: &Watch<'_>) -> Result<Step, Stop> {
        let (frames, effect) = found(&refined, self.0)?;
        let by_function = of_functions_in(&refined, &frames);
        let frame = refined.frame.clone();
        let function: Vec<FunctionRef> =
            refined.frames.iter().map(|frame| frame.function).collect();
        let (refined, moved) = delete(refined, watch, |node, above| {
            let (here, above) = (frame[node].index(), frame[above].index());
            frames.contains(here) && function[here] == function[above]
        })?;
        Ok(Step { refined, moved, effect: effect.max(by_function) })
    }

    fn keeps_order(&self) -> bool {
        true
    }

    fn passes(&self, metrics: usize) -> usize {
        1 + metrics
    }
}
