//! Predicates: samples whose path satisfies them stay, others are taken out.

use super::keep::keep;
use super::step::{Moved, Step, Transform};
use crate::refine::forest::error::Stop;
use crate::refine::forest::recorded::Effect;
use crate::refine::forest::refined::Refined;
use crate::refine::lang::syntax::Predicate;
use crate::refine::select::matcher::Matcher;
use crate::refine::select::predicate;
use crate::refine::watch::Watch;

/// `through f`
pub(crate) struct Where<'s>(pub(crate) &'s Predicate);

impl Transform for Where<'_> {
    fn run(&self, refined: Refined, watch: &Watch<'_>) -> Result<Step, Stop> {
        let matcher = Matcher::new(&refined);
        let kept = predicate::nodes(&matcher, &refined, self.0, watch)?;
        let parts = predicate::parts_procedures(&matcher, self.0);
        let effect = if parts { Effect::Parts } else { Effect::TakesOut };
        let mut refined = keep(refined, &kept, watch)?;
        refined.selected_by.push(self.0.clone());
        Ok(Step { refined, moved: Moved::NONE, effect })
    }

    fn keeps_order(&self) -> bool {
        true
    }

    fn passes(&self, metrics: usize) -> usize {
        fn atoms(predicate: &Predicate) -> usize {
            match predicate {
                Predicate::And(inner) | Predicate::Or(inner) => inner.iter().map(atoms).sum(),
                Predicate::Not(inner) => atoms(inner),
                Predicate::Numbered { .. } | Predicate::Named { .. } => 0,
                _ => 1,
            }
        }
        atoms(self.0) + 2 * metrics
    }
}
