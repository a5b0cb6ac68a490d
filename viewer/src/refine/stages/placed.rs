//! Frames as places: some become functions that stand for where they are, in whichever function.
//!
//! No stage of the language: a place such as a line of a file has no part in call paths, and so it
//! is counted in a forest of its own.

use super::step::{Moved, Step, Transform};
use crate::profile::{Frame, Function, FunctionRef};
use crate::refine::forest::error::Stop;
use crate::refine::forest::recorded::Effect;
use crate::refine::forest::refined::Refined;
use crate::refine::forest::workspace::Table;
use crate::refine::watch::Watch;

/// Frames become places.
pub(crate) struct Placed<'p> {
    /// What the places are called.
    pub(crate) places: Vec<Function>,
    /// The place of a frame, by its number; `None` for frames that stay what they are.
    pub(crate) place_of: &'p dyn Fn(&Frame) -> Option<usize>,
}

impl Transform for Placed<'_> {
    fn run(&self, mut refined: Refined, _watch: &Watch<'_>) -> Result<Step, Stop> {
        let first = refined.functions.add(self.places.clone());
        let mut frames: Vec<Frame> = refined.frames.iter().copied().collect();
        for frame in &mut frames {
            // What is no code is nowhere, and a loop is around what is in it.
            let is_function = frame.kind.is_function();
            if let Some(place) = (self.place_of)(frame).filter(|_| is_function) {
                frame.function = FunctionRef(first + u32::try_from(place).unwrap_or(u32::MAX));
            }
        }
        let becomes = |frame: usize| (frames[frame].function, frames[frame].kind);
        let parts = refined.are_procedures_parted(becomes);
        let effect = if parts { Effect::Parts } else { Effect::None };
        refined.frames = Table::made(frames);
        Ok(Step { refined, moved: Moved::NONE, effect })
    }

    fn keeps_order(&self) -> bool {
        true
    }

    fn passes(&self, _metrics: usize) -> usize {
        0
    }
}
