//! `split`: a frame for each rank, process, thread or epoch, above all its paths.
//!
//! Each stream gets a node of its own, so that what moves there later still has its thread; equal
//! ones are one row. A further split goes below an earlier one.

use super::super::Refined;
use super::super::children::node_number;
use super::super::column::{Column, Home};
use super::super::predicate::Contexts;
use super::super::syntax::Axis;
use super::super::watch::{Cancelled, Watch};
use super::{contexts, out_of};
use crate::profile::{Frame, FrameKind, FrameRef, Function, FunctionRef, Stream};

/// A node that is put in.
struct Added {
    /// Its number among the old nodes: those from here on come after it.
    before: usize,
    /// The old node it hangs below.
    above: u32,
    frame: FrameRef,
}

/// Puts a node of kind [`FrameKind::Context`] above all paths of each stream. Returns the samples
/// that had no frame, too: they have moved.
pub(super) fn split<'p>(
    mut refined: Refined<'p>,
    axis: Axis,
    watch: &Watch<'_>,
) -> Result<(Refined<'p>, u64), Cancelled> {
    let added = added(&mut refined, axis);
    let workspace = refined.workspace.clone();
    let counts = &workspace.counts;
    let mut streams: Vec<Stream> = refined.streams.to_vec();
    for (number, stream) in streams.iter_mut().enumerate() {
        stream.nodes.start += node_number(number);
        stream.nodes.end += node_number(number) + 1;
    }

    let old = out_of(&mut refined.parent);
    let mut parent = workspace.nodes.empty(old.len() + added.len());
    parent.push(0);
    let inclusive = out_of(&mut refined.inclusive);
    // What hangs below each added node from now on, and what it gets from holders of samples that
    // an earlier stage left without any frame: these have one again.
    let mut sums = vec![0_u64; added.len()];
    let mut own = vec![0_u64; added.len()];
    let mut holders: Vec<usize> = Vec::new();
    for (number, (put, stream)) in added.iter().zip(&refined.streams).enumerate() {
        // Old nodes before the new one move by as many as were put in before; others by one more.
        let by = node_number(number);
        let moved = |node: u32| {
            let is_after = node as usize >= put.before;
            if node == 0 { 0 } else { node + by + u32::from(is_after) }
        };
        let (start, end) = (stream.nodes.start as usize, stream.nodes.end as usize);
        parent.extend(old[start..put.before].iter().map(|&above| moved(above)));
        parent.push(moved(put.above));
        let new = node_number(put.before) + by;
        watch.forward(put.before..end, |nodes| {
            for node in nodes {
                let above = old[node];
                if above == put.above {
                    sums[number] += inclusive[node];
                    if refined.frame[node] == FrameRef::ROOT {
                        own[number] += inclusive[node];
                        holders.push(node + number + 1);
                    }
                }
                parent.push(if above == put.above { new } else { moved(above) });
            }
        })?;
    }
    refined.parent = Column::made(parent, &workspace.nodes);
    let frame = out_of(&mut refined.frame);
    let frames: Vec<FrameRef> = added.iter().map(|put| put.frame).collect();
    refined.frame = with(&frame, &added, &frames, &workspace.frames, watch)?;
    let none = vec![0; added.len()];
    let mut exclusive = with(&refined.exclusive, &added, &own, counts, watch)?.take(counts);
    let mut sums_of_all = with(&inclusive, &added, &sums, counts, watch)?.take(counts);
    for holder in holders {
        exclusive[holder] = 0;
        sums_of_all[holder] = 0;
    }
    refined.exclusive = Column::made(exclusive, counts);
    refined.inclusive = Column::made(sums_of_all, counts);
    let recorded = &mut refined.recorded;
    let exact = recorded.low.is(&recorded.high);
    recorded.low = with(&recorded.low, &added, &none, counts, watch)?;
    recorded.high = if exact {
        recorded.low.clone()
    } else {
        with(&recorded.high, &added, &none, counts, watch)?
    };
    recorded.inclusive = if recorded.inclusive.is(&inclusive) {
        refined.inclusive.clone()
    } else {
        with(&recorded.inclusive, &added, &sums, counts, watch)?
    };
    refined.streams = streams.into();
    Ok((refined, own.iter().sum()))
}

/// A column with the values of the nodes that are put in.
fn with<'p, T: Copy>(
    old: &[T],
    added: &[Added],
    values: &[T],
    home: &Home<T>,
    watch: &Watch<'_>,
) -> Result<Column<'p, T>, Cancelled> {
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

/// One node for each stream.
fn added(refined: &mut Refined<'_>, axis: Axis) -> Vec<Added> {
    let deepest = contexts(refined);
    let names: Vec<String> = {
        let contexts = Contexts::new(refined);
        let name = |stream: &Stream| match contexts.number(stream, axis) {
            Some(number) => format!("{}={number}", axis.name()),
            None => format!("{}=none", axis.name()),
        };
        refined.streams.iter().map(name).collect()
    };
    let places: Vec<(usize, u32)> = refined
        .streams
        .iter()
        .zip(deepest)
        .map(|(stream, context)| {
            (if context == 0 { stream.nodes.start } else { context + 1 } as usize, context)
        })
        .collect();
    names
        .into_iter()
        .zip(places)
        .map(|(name, (before, above))| {
            let function = Function { name, module: None, file: None, line: 0 };
            let function = FunctionRef(refined.functions.number_of(function));
            let frame = Frame { function, kind: FrameKind::Context, file: None, line: 0 };
            Added { before, above, frame: FrameRef(refined.frames.number_of(frame)) }
        })
        .collect()
}
