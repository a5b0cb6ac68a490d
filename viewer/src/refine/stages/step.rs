//! What every stage is asked for, and what several of them need.

use crate::profile::{self, Column, Count, FrameKind, Home, MetricRef};
use crate::refine::forest::bits::Bits;
use crate::refine::forest::costs::SampleColumns;
use crate::refine::forest::error::{Stop, Unmatched};
use crate::refine::forest::recorded::Effect;
use crate::refine::forest::refined::Refined;
use crate::refine::lang::syntax::FramePattern;
use crate::refine::select::matcher::Matcher;
use crate::refine::watch::{Cancelled, Watch};

/// What a stage does to a forest.
pub(crate) trait Transform {
    /// Applies it.
    ///
    /// # Errors
    /// What it asks for is not shown, or the watch asked for it.
    fn run(&self, refined: Refined, watch: &Watch<'_>) -> Result<Step, Stop>;

    /// Whether nodes that were numbered depth first still are. Nodes that hang below a node higher
    /// up than before leave the order, unless they took all between with them.
    fn keeps_order(&self) -> bool;

    /// How many times it goes over all nodes of a forest of so many metrics, more or less.
    fn passes(&self, metrics: usize) -> usize;
}

/// A forest after a stage.
#[derive(Debug)]
pub(crate) struct Step {
    pub(crate) refined: Refined,
    /// Samples that the stage moved to another frame.
    pub(crate) moved: Moved,
    /// What it did to what is known of edges.
    pub(crate) effect: Effect,
}

/// Samples that a stage moved to another frame.
#[derive(Debug)]
pub(crate) struct Moved {
    /// Of all metrics together, then of each further one; empty if none has moved.
    numbers: Vec<u64>,
}

impl Moved {
    /// None.
    pub(crate) const NONE: Self = Self { numbers: Vec::new() };

    /// Those of one metric; the first has what no further one has.
    pub(crate) fn of(&self, metric: MetricRef) -> u64 {
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

/// The frames that a pattern means, and what a stage that does something to them does to what is
/// known of edges.
pub(crate) fn found(
    refined: &Refined,
    pattern: &FramePattern,
) -> Result<(Bits, Effect), Unmatched> {
    let matcher = Matcher::new(refined);
    let frames = matcher.frames(pattern)?;
    let parts = matcher.parts_procedures(pattern, || &frames);
    Ok((frames, if parts { Effect::Parts } else { Effect::None }))
}

/// What a stage that tells functions apart does to what is known of edges: what is a function's is
/// not all of a procedure's where these are not the same.
pub(crate) fn of_functions(refined: &Refined) -> Effect {
    match refined.procedures.are_functions() {
        true => Effect::None,
        false => Effect::Parts,
    }
}

/// What a stage that tells apart only the functions of these frames does to what is known of edges.
pub(crate) fn of_functions_in(refined: &Refined, frames: &Bits) -> Effect {
    let function = |frame| frames.contains(frame).then(|| refined.frames[frame].function);
    match of_functions(refined) {
        Effect::Parts if refined.are_procedures_parted(function) => Effect::Parts,
        _ => Effect::None,
    }
}

/// The deepest context node of each stream, in their order; 0 for a stream that has none.
pub(crate) fn contexts(refined: &Refined) -> Vec<u32> {
    let is_context = |node: &u32| {
        refined.frames[refined.frame[*node as usize].index()].kind == FrameKind::Context
    };
    let deepest = |nodes: std::ops::Range<u32>| nodes.take_while(is_context).last().unwrap_or(0);
    refined.streams.iter().map(|stream| deepest(stream.nodes.clone())).collect()
}

/// Replaces samples by these exclusive ones, and what they add up to.
pub(crate) fn replace_samples<C: Count>(
    samples: &mut SampleColumns<C>,
    exclusive: Vec<C>,
    home: &Home<C>,
    parent: &[u32],
    watch: &Watch<'_>,
) -> Result<(), Cancelled> {
    let mut inclusive = std::mem::take(&mut samples.inclusive).into_empty(home);
    inclusive.extend_from_slice(&exclusive);
    add_up(parent, &mut inclusive, watch)?;
    samples.exclusive = Column::made(exclusive, home);
    samples.inclusive = Column::made(inclusive, home);
    Ok(())
}

/// Adds up inclusive samples: `sums` has the exclusive ones at first.
pub(crate) fn add_up<C: Count>(
    parent: &[u32],
    sums: &mut [C],
    watch: &Watch<'_>,
) -> Result<(), Cancelled> {
    watch.backward(1..parent.len(), |nodes| profile::add_up(parent, sums, nodes))
}
