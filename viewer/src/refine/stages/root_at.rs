//! `root at`: paths that begin at a match.

use super::keep::keep;
use super::step::{Moved, Step, Transform, contexts, found};
use crate::profile::Column;
use crate::refine::forest::bits::Bits;
use crate::refine::forest::error::Stop;
use crate::refine::forest::recorded::Effect;
use crate::refine::forest::refined::Refined;
use crate::refine::lang::syntax::FramePattern;
use crate::refine::watch::Watch;

/// `root at f`, `root at last f`: strips what is above the first match of each path, or the last
/// one; takes out paths without. What `split` put above paths stays above them.
pub(crate) struct RootAt<'s> {
    pub(crate) pattern: &'s FramePattern,
    pub(crate) last: bool,
}

impl Transform for RootAt<'_> {
    fn run(&self, mut refined: Refined, watch: &Watch<'_>) -> Result<Step, Stop> {
        let (frames, effect) = found(&refined, self.pattern)?;
        let home = refined.workspace.nodes.clone();
        let (frame, contexts) = (refined.frame.clone(), contexts(&refined));
        let mut parent = std::mem::take(&mut refined.parent).take(&home);
        // Nodes at or below a match; node 0 never is.
        let mut inside = Bits::none(parent.len());
        for (stream, &context) in refined.streams.iter().zip(&contexts) {
            // Contexts come first and stay below one another.
            let first = if context == 0 { stream.nodes.start } else { context + 1 };
            watch.forward(first as usize..stream.nodes.end as usize, |nodes| {
                for node in nodes {
                    let below = inside.contains(parent[node] as usize);
                    let matches = frames.contains(frame[node].index());
                    if matches && (self.last || !below) {
                        parent[node] = context;
                    }
                    if matches || below {
                        inside.insert(node);
                    }
                }
            })?;
        }
        refined.parent = Column::made(parent, &home);
        let refined = keep(refined, &inside, watch)?;
        // What is at or below a first match is kept whole.
        let effect = if self.last { effect.max(Effect::TakesOut) } else { effect };
        Ok(Step { refined, moved: Moved::NONE, effect })
    }

    fn keeps_order(&self) -> bool {
        !self.last
    }

    fn passes(&self, metrics: usize) -> usize {
        1 + 2 * metrics
    }
}
