//! `group … as`: several functions shown as one.

use super::delete::runs;
use super::step::{Step, Transform, found};
use crate::profile::{Frame, Function, FunctionRef};
use crate::refine::forest::error::Stop;
use crate::refine::forest::refined::Refined;
use crate::refine::forest::workspace::Table;
use crate::refine::lang::syntax::FramePattern;
use crate::refine::watch::Watch;

/// `group f as name`: maximal runs of these frames become one frame each, the first one, under the
/// group's name and with its own edge count.
pub(crate) struct Group<'s> {
    pub(crate) pattern: &'s FramePattern,
    pub(crate) name: &'s str,
}

impl Transform for Group<'_> {
    fn run(&self, refined: Refined, watch: &Watch<'_>) -> Result<Step, Stop> {
        let (members, effect) = found(&refined, self.pattern)?;
        let (mut refined, moved) = runs(refined, &members, watch)?;
        let function = FunctionRef(refined.functions.number_of(Function::named(self.name)));
        let mut frames: Vec<Frame> = refined.frames.iter().copied().collect();
        for member in members.iter() {
            frames[member] = Frame::made_up(function, frames[member].kind.renamed());
        }
        refined.frames = Table::made(frames);
        Ok(Step { refined, moved, effect })
    }

    fn keeps_order(&self) -> bool {
        true
    }

    fn passes(&self, metrics: usize) -> usize {
        1 + metrics
    }
}
