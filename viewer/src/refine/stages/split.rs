//! `split`: a frame for each rank, or each of another context, above all its paths.
//!
//! Each stream gets a node of its own, so that what moves there later still has its thread; equal
//! ones are one row. A further split goes below an earlier one.

use std::collections::HashMap;

use super::step::{Moved, Step, Transform, contexts};
use crate::profile::{
    Column, Count, Frame, FrameKind, FrameRef, Function, FunctionRef, Home, Stream,
};
use crate::refine::forest::children::node_number;
use crate::refine::forest::costs::{CostsOf, SampleColumns, in_width};
use crate::refine::forest::error::Stop;
use crate::refine::forest::recorded::Effect;
use crate::refine::forest::refined::Refined;
use crate::refine::forest::timing::Timing;
use crate::refine::lang::axis::Axis;
use crate::refine::select::contexts::Contexts;
use crate::refine::watch::{Cancelled, Watch};

/// A node that is put in.
struct Added {
    /// Its number among the old nodes: those from here on come after it.
    before: usize,
    /// The old node it hangs below.
    above: u32,
    frame: FrameRef,
}

/// `split rank`: a node of kind [`FrameKind::Context`] above all paths of each stream. Samples that
/// had no frame have moved.
pub(crate) struct Split(pub(crate) Axis);

impl Transform for Split {
    fn run(&self, mut refined: Refined, watch: &Watch<'_>) -> Result<Step, Stop> {
        let axis = self.0;
        let added = added(&mut refined, axis);
        let workspace = refined.workspace.clone();
        let mut streams: Vec<Stream> = refined.streams.to_vec();
        for (number, stream) in streams.iter_mut().enumerate() {
            stream.nodes.start += node_number(number);
            stream.nodes.end += node_number(number) + 1;
        }

        let old = std::mem::take(&mut refined.parent);
        let mut parent = workspace.nodes.empty(old.len() + added.len());
        parent.push(0);
        // What hangs directly below each added node from now on, as old nodes.
        let mut below: Vec<Vec<usize>> = Vec::with_capacity(added.len());
        for (number, (put, stream)) in added.iter().zip(&refined.streams).enumerate() {
            // Old nodes before the new one move by as many as were put in before; others by one
            // more.
            let by = node_number(number);
            let moved = |node: u32| {
                let is_after = node as usize >= put.before;
                if node == 0 { 0 } else { node + by + u32::from(is_after) }
            };
            let (start, end) = (stream.nodes.start as usize, stream.nodes.end as usize);
            parent.extend(old[start..put.before].iter().map(|&above| moved(above)));
            parent.push(moved(put.above));
            let new = node_number(put.before) + by;
            let mut here = Vec::new();
            watch.forward(put.before..end, |nodes| {
                for node in nodes {
                    let above = old[node];
                    if above == put.above {
                        here.push(node);
                    }
                    parent.push(if above == put.above { new } else { moved(above) });
                }
            })?;
            below.push(here);
        }
        refined.parent = Column::made(parent, &workspace.nodes);
        let moved = in_width!(
            &mut refined.costs,
            costs => add_costs(costs, &refined.frame, &added, &below, watch)
        )?;
        let frames: Vec<FrameRef> = added.iter().map(|put| put.frame).collect();
        let old_nodes = (&old[..], &refined.frame[..]);
        follow(&mut refined.timing, &added, &refined.streams, old_nodes);
        refined.frame = with(&refined.frame, &added, &frames, &workspace.frames, watch)?;
        refined.streams = streams.into();
        let effect = if axis.definition().parts_activations { Effect::Parts } else { Effect::None };
        Ok(Step { refined, moved, effect })
    }

    fn keeps_order(&self) -> bool {
        true
    }

    fn passes(&self, metrics: usize) -> usize {
        2 + 2 * metrics
    }
}

/// Samples stay on their nodes, which have other numbers, but for those that [`add_samples`] moves.
fn follow(
    timing: &mut Timing,
    added: &[Added],
    streams: &[Stream],
    (parent, frame): (&[u32], &[FrameRef]),
) {
    timing.follow(|node| {
        let number = streams.partition_point(|stream| stream.nodes.end <= node);
        let Some(put) = added.get(number) else { return Some(node) };
        let by = node_number(number);
        let new = node_number(put.before) + by;
        let above = parent[node as usize];
        let is_holder = above == put.above && frame[node as usize] == FrameRef::ROOT;
        let is_earlier = put.above != 0 && node == put.above;
        let is_after = node as usize >= put.before;
        Some(if (is_after && is_holder) || is_earlier {
            new
        } else {
            node + by + u32::from(is_after)
        })
    });
}

/// The costs with those of the nodes that are put in.
fn add_costs<C: Count>(
    costs: &mut CostsOf<C>,
    frame: &[FrameRef],
    added: &[Added],
    below: &[Vec<usize>],
    watch: &Watch<'_>,
) -> Result<Moved, Cancelled> {
    let before = costs.all.inclusive.clone();
    let (samples, home) = costs.samples_mut();
    let moved = samples.map(|samples| add_samples(samples, home, frame, added, below, watch));
    let moved = moved.collect::<Result<Moved, _>>()?;
    let CostsOf { recorded, home, .. } = costs;
    // No node of the profile has as many.
    let none = vec![C::MAX; added.len()];
    let exact = recorded.low.is(&recorded.high);
    recorded.low = with(&recorded.low, added, &none, home, watch)?;
    recorded.high =
        if exact { recorded.low.clone() } else { with(&recorded.high, added, &none, home, watch)? };
    recorded.inclusive = if recorded.inclusive.is(&before) {
        costs.all.inclusive.clone()
    } else {
        let none = vec![C::default(); added.len()];
        with(&recorded.inclusive, added, &none, home, watch)?
    };
    Ok(moved)
}

/// Gives the nodes that are put in the samples of those `below` them. Holders of samples that an
/// earlier stage left without any frame give them up: these have one again, and have moved. So have
/// those left at the node of an earlier split, which are below this one as all of the stream are.
/// Returns how many have moved.
fn add_samples<C: Count>(
    samples: &mut SampleColumns<C>,
    home: &Home<C>,
    frame: &[FrameRef],
    added: &[Added],
    below: &[Vec<usize>],
    watch: &Watch<'_>,
) -> Result<u64, Cancelled> {
    let SampleColumns { exclusive, inclusive } = samples;
    let mut sums = vec![C::default(); added.len()];
    let mut own = vec![C::default(); added.len()];
    let mut holders: Vec<usize> = Vec::new();
    let mut earlier: Vec<usize> = Vec::new();
    for (number, (put, nodes)) in added.iter().zip(below).enumerate() {
        if put.above != 0 {
            own[number] += exclusive[put.above as usize];
            sums[number] += exclusive[put.above as usize];
            earlier.push(put.above as usize + number);
        }
        for &node in nodes {
            sums[number] += inclusive[node];
            if frame[node] == FrameRef::ROOT {
                own[number] += inclusive[node];
                holders.push(node + number + 1);
            }
        }
    }
    let mut new_exclusive = with(exclusive, added, &own, home, watch)?.take(home);
    let mut new_inclusive = with(inclusive, added, &sums, home, watch)?.take(home);
    for node in earlier {
        new_exclusive[node] = C::default();
    }
    for holder in holders {
        new_exclusive[holder] = C::default();
        new_inclusive[holder] = C::default();
    }
    *exclusive = Column::made(new_exclusive, home);
    *inclusive = Column::made(new_inclusive, home);
    Ok(own.into_iter().map(Into::into).sum())
}

/// A column with the values of the nodes that are put in.
fn with<T: Copy>(
    old: &[T],
    added: &[Added],
    values: &[T],
    home: &Home<T>,
    watch: &Watch<'_>,
) -> Result<Column<T>, Cancelled> {
    watch.step(old.len())?;
    let mut column = home.empty(old.len() + added.len());
    let mut start = 0;
    for (put, &value) in added.iter().zip(values) {
        column.extend_from_slice(&old[start..put.before]);
        column.push(value);
        start = put.before;
    }
    column.extend_from_slice(&old[start..]);
    Ok(Column::made(column, home))
}

/// One node for each stream; its frame is that of all streams with this number.
fn added(refined: &mut Refined, axis: Axis) -> Vec<Added> {
    let deepest = contexts(refined);
    let (first_function, first_frame) = (refined.functions.len(), refined.frames.len());
    // There may be as many numbers as streams, so they are not looked for in the tables.
    let mut places: HashMap<Option<u32>, usize> = HashMap::new();
    let mut functions: Vec<Function> = Vec::new();
    let contexts = Contexts::new(refined);
    let added = refined.streams.iter().zip(deepest).map(|(stream, context)| {
        let number = contexts.number(stream, axis);
        let place = *places.entry(number).or_insert_with(|| {
            let name = contexts.called(number, axis);
            functions.push(Function::named(format!("{}={name}", axis.name())));
            functions.len() - 1
        });
        let before = if context == 0 { stream.nodes.start } else { context + 1 };
        let frame = FrameRef(node_number(first_frame + place));
        Added { before: before as usize, above: context, frame }
    });
    let added = added.collect();
    let frame = |place| {
        let function = FunctionRef(node_number(first_function + place));
        Frame::made_up(function, FrameKind::Context)
    };
    let frames = (0..functions.len()).map(frame).collect();
    refined.functions.add(functions);
    refined.frames.add(frames);
    added
}
