//! What each stage does to a forest, one file for each family.

mod by;
mod group;
mod relocate;
mod root;
mod select;

use super::matcher::{Matcher, NoMatch};
use super::syntax::{FramePattern, Stage};
use super::{Refined, predicate};
use relocate::Moves;

/// What a stage asks for and the forest does not show.
#[derive(Debug)]
pub(super) struct Unmatched {
    /// As the language writes it.
    pub(super) part: String,
    /// What it was compared with.
    pub(super) among: &'static str,
    /// What there is instead.
    pub(super) suggestions: Vec<String>,
}

impl Matcher<'_, '_> {
    /// The error for a pattern that matches nothing.
    pub(super) fn explain(&self, NoMatch(pattern): &NoMatch) -> Unmatched {
        Unmatched {
            part: pattern.to_string(),
            among: match pattern {
                FramePattern::Field(super::Field::Module, _) => "load module",
                FramePattern::Field(super::Field::File, _) => "source file",
                FramePattern::Glob(_) | FramePattern::Regex(_) | FramePattern::Exact(_) => {
                    "function"
                }
                _ => "frame",
            },
            suggestions: self.nearest(pattern),
        }
    }
}

/// The forest after a stage, and the samples that the stage moved to another frame.
pub(super) fn run<'p>(
    refined: &Refined<'p>,
    stage: &Stage,
) -> Result<(Refined<'p>, u64), Unmatched> {
    let matcher = Matcher::new(refined);
    let frames = |pattern| matcher.frames(pattern).map_err(|none| matcher.explain(&none));
    Ok(match stage {
        Stage::Where(predicate) => {
            let kept = predicate::nodes(&matcher, refined, predicate)?;
            (select::keep(refined, &kept), 0)
        }
        Stage::Hide(pattern) => Moves::hide(refined, &frames(pattern)?).apply(refined),
        Stage::StopAt(pattern) => Moves::stop_at(refined, &frames(pattern)?).apply(refined),
        Stage::Cut(pattern) => Moves::cut(refined, &frames(pattern)?).apply(refined),
        Stage::Collapse(pattern) => Moves::collapse(refined, &frames(pattern)?).apply(refined),
        Stage::CollapseRun(pattern) => {
            Moves::collapse_run(refined, &frames(pattern)?).apply(refined)
        }
        Stage::Fold(pattern) => {
            let (next, moved) = Moves::fold(refined, &frames(pattern)?).apply(refined);
            (select::with_edge_bounds(refined, next), moved)
        }
        Stage::CallersOf(_) | Stage::Split(_) | Stage::Small(_) => {
            return Err(Unmatched {
                part: stage.to_string(),
                among: "stage of this version",
                suggestions: Vec::new(),
            });
        }
        Stage::By(grain) => by::by(refined, *grain),
        Stage::Group { pattern, name } => group::group(refined, &frames(pattern)?, name),
        Stage::RootAt { pattern, last } => {
            let next = root::root_at(refined, &frames(pattern)?, *last);
            (select::with_edge_bounds(refined, next), 0)
        }
    })
}
