//! What each stage does to a forest, one file for each family.
//!
//! A stage owns the forest it is given. It finds out which frames are meant, then edits the
//! columns; those that somebody else has too are copied first (`column`).

mod by;
mod callers;
mod fold;
mod group;
mod relocate;
mod root;
mod select;
mod small;
mod split;

use super::Refined;
use super::apply::Cause;
use super::bits::Bits;
use super::column::Column;
use super::costs::in_width;
use super::edges::Effect;
use super::matcher::Matcher;
use super::predicate;
use super::syntax::{Axis, Grain, Predicate, Stage};
use super::watch::{Cancelled, Watch};
use crate::profile::{Count, FrameKind, MetricRef};

/// What a stage asks for and the forest does not show.
#[derive(Debug)]
pub(super) struct Unmatched {
    /// As the language writes it.
    pub(super) part: String,
    /// Why.
    pub(super) cause: Cause,
}

/// Why a stage made nothing.
#[derive(Debug)]
pub(super) enum Stop {
    Refused { part: String, cause: Cause },
    Cancelled,
}

impl From<Cancelled> for Stop {
    fn from(Cancelled: Cancelled) -> Self {
        Self::Cancelled
    }
}

impl From<Unmatched> for Stop {
    fn from(Unmatched { part, cause }: Unmatched) -> Self {
        Self::Refused { part, cause }
    }
}

/// Samples that a stage moved to another frame.
#[derive(Debug)]
pub(super) struct Moved {
    /// Of all metrics together, then of each further one; empty if none has moved.
    numbers: Vec<u64>,
}

impl Moved {
    /// None.
    const NONE: Self = Self { numbers: Vec::new() };

    /// Those of one metric; the first has what no further one has.
    pub(super) fn of(&self, metric: MetricRef) -> u64 {
        match (metric.index(), &self.numbers[..]) {
            (_, []) => 0,
            (0, [all, further @ ..]) => all - further.iter().sum::<u64>(),
            (number, numbers) => numbers[number],
        }
    }
}

impl FromIterator<u64> for Moved {
    fn from_iter<I: IntoIterator<Item = u64>>(numbers: I) -> Self {
        Self { numbers: numbers.into_iter().collect() }
    }
}

/// The forest after a stage, and the samples that the stage moved to another frame.
pub(super) fn run<'p>(
    refined: Refined<'p>,
    stage: &Stage,
    watch: &Watch<'_>,
) -> Result<(Refined<'p>, Moved), Stop> {
    let matcher = Matcher::new(&refined);
    let found = |pattern| -> Result<(Bits, Effect), Unmatched> {
        let frames = matcher.frames(pattern)?;
        let parts = matcher.parts_procedures(pattern, &frames);
        Ok((frames, if parts { Effect::Parts } else { Effect::None }))
    };
    // What is a function's is not all of a procedure's where these are not the same.
    let by_function = match refined.procedures.are_functions() {
        true => Effect::None,
        false => Effect::Parts,
    };
    let (effect, (mut refined, moved)) = match stage {
        Stage::Where(predicate) => {
            let kept = predicate::nodes(&matcher, &refined, predicate, watch)?;
            let parts = predicate::parts_procedures(&matcher, predicate);
            let effect = if parts { Effect::Parts } else { Effect::TakesOut };
            (effect, (select::keep(refined, &kept, watch)?, Moved::NONE))
        }
        Stage::Hide(pattern) => {
            let (frames, effect) = found(pattern)?;
            (effect, relocate::hide(refined, &frames, watch)?)
        }
        Stage::StopAt(pattern) => {
            let (frames, effect) = found(pattern)?;
            (effect, relocate::stop_at(refined, &frames, watch)?)
        }
        Stage::Cut(pattern) => {
            let (frames, effect) = found(pattern)?;
            (effect, relocate::cut(refined, &frames, watch)?)
        }
        Stage::Collapse(pattern) => {
            let (frames, effect) = found(pattern)?;
            (effect.max(by_function), relocate::collapse(refined, &frames, watch)?)
        }
        Stage::CollapseRun(pattern) => {
            let (frames, effect) = found(pattern)?;
            (effect.max(by_function), relocate::collapse_run(refined, &frames, watch)?)
        }
        Stage::Fold(pattern) => {
            let (frames, effect) = found(pattern)?;
            (effect.max(Effect::TakesOut), fold::fold(refined, &frames, watch)?)
        }
        Stage::By(grain) => by::by(refined, *grain, watch)?,
        Stage::Group { pattern, name } => {
            let (frames, effect) = found(pattern)?;
            (effect, group::group(refined, &frames, name, watch)?)
        }
        Stage::RootAt { pattern, last } => {
            let (frames, effect) = found(pattern)?;
            // What is at or below a first match is kept whole.
            let effect = if *last { effect.max(Effect::TakesOut) } else { effect };
            (effect, (root::root_at(refined, &frames, *last, watch)?, Moved::NONE))
        }
        Stage::CallersOf(pattern) => {
            let (frames, effect) = found(pattern)?;
            let is_part = effect == Effect::Parts;
            (Effect::None, callers::callers_of(refined, &frames, is_part, stage, watch)?)
        }
        Stage::Split(axis) => {
            let effect = if *axis == Axis::Epoch { Effect::Parts } else { Effect::None };
            (effect, split::split(refined, *axis, watch)?)
        }
        Stage::Small(test) => (by_function, small::small(refined, test, watch)?),
    };
    in_width!(&mut refined.costs, costs => costs.recorded.after(effect));
    Ok((refined, moved))
}

/// Whether nodes that were numbered depth first still are. Those that hang below a node higher up
/// than before took all between with them; only here some stay.
pub(super) fn keeps_order(stage: &Stage) -> bool {
    !matches!(stage, Stage::Fold(_) | Stage::RootAt { last: true, .. } | Stage::CallersOf(_))
}

/// How many times a stage goes over all nodes of a forest of so many metrics, more or less.
pub(super) fn passes(stage: &Stage, metrics: usize) -> usize {
    fn atoms(predicate: &Predicate) -> usize {
        match predicate {
            Predicate::And(inner) | Predicate::Or(inner) => inner.iter().map(atoms).sum(),
            Predicate::Not(inner) => atoms(inner),
            Predicate::Numbered { .. } | Predicate::Named { .. } => 0,
            _ => 1,
        }
    }
    match stage {
        Stage::Where(predicate) => atoms(predicate) + 2 * metrics,
        Stage::By(Grain::Function | Grain::Line) => 0,
        Stage::RootAt { .. } => 1 + 2 * metrics,
        Stage::Collapse(_) | Stage::Small(_) => 2 + metrics,
        Stage::Split(_) => 2 + 2 * metrics,
        _ => 1 + metrics,
    }
}

/// Takes a column out of a forest, to edit it and put it back.
fn out_of<'p, T>(column: &mut Column<'p, T>) -> Column<'p, T> {
    std::mem::replace(column, Column::loaded(&[]))
}

/// The deepest context node of each stream, in their order; 0 for a stream that has none.
fn contexts(refined: &Refined<'_>) -> Vec<u32> {
    let is_context = |node: &u32| {
        refined.frames[refined.frame[*node as usize].index()].kind == FrameKind::Context
    };
    let deepest = |nodes: std::ops::Range<u32>| nodes.take_while(is_context).last().unwrap_or(0);
    refined.streams.iter().map(|stream| deepest(stream.nodes.clone())).collect()
}

/// Adds up inclusive samples: `sums` has the exclusive ones at first.
fn add_up<C: Count>(parent: &[u32], sums: &mut [C], watch: &Watch<'_>) -> Result<(), Cancelled> {
    watch.backward(1..parent.len(), |nodes| {
        for node in nodes.rev() {
            let value = sums[node];
            sums[parent[node] as usize] += value;
        }
    })
}
