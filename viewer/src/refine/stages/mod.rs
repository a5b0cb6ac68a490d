//! What each stage does to a forest, one file for each.
//!
//! A stage owns the forest it is given. It finds out which frames are meant, then edits the
//! columns; those that somebody else has too are copied first (`column`).

mod by;
mod by_loop;
mod callers_of;
mod collapse;
mod collapse_run;
mod cut;
mod delete;
mod during;
mod filter;
mod fold;
mod group;
mod hide;
mod keep;
pub(crate) mod placed;
mod root_at;
mod small;
mod split;
pub(crate) mod step;
mod stop_at;

use self::step::Transform;
use super::lang::stage::Stage;
use super::lang::syntax::Grain;

/// What a stage does.
pub(crate) fn transform(stage: &Stage) -> Box<dyn Transform + '_> {
    match stage {
        Stage::Where(predicate) => Box::new(filter::Where(predicate)),
        Stage::Hide(pattern) => Box::new(hide::Hide(pattern)),
        Stage::StopAt(pattern) => Box::new(stop_at::StopAt(pattern)),
        Stage::Cut(pattern) => Box::new(cut::Cut(pattern)),
        Stage::Group { pattern, name } => Box::new(group::Group { pattern, name }),
        Stage::RootAt { pattern, last } => Box::new(root_at::RootAt { pattern, last: *last }),
        Stage::Collapse(pattern) => Box::new(collapse::Collapse(pattern)),
        Stage::CollapseRun(pattern) => Box::new(collapse_run::CollapseRun(pattern)),
        Stage::Fold(pattern) => Box::new(fold::Fold(pattern)),
        Stage::By(Grain::Loop) => Box::new(by_loop::ByLoop),
        Stage::By(grain) => Box::new(by::By(*grain)),
        Stage::CallersOf(pattern) => Box::new(callers_of::CallersOf(pattern)),
        Stage::Split(axis) => Box::new(split::Split(*axis)),
        Stage::During(period) => Box::new(during::During(*period)),
        Stage::Small(test) => Box::new(small::Small(test)),
    }
}
