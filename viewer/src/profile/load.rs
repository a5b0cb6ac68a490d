//! From the saved profile to columns: machine frames become source-level frames.
//!
//! A machine node whose address lies in inlined code becomes a chain of nodes, the function whose
//! code it is first, then what was inlined into it. The edge count stays on the first, which is
//! the one that was called and returns; samples go to the last, which was executing. Roots of the
//! saved trees become node 0. Functions that left by a tail call stand between the frame that
//! called them and the one that they jumped to. Frames of csprof's own that only pass a call on are
//! left out ([`passage`](super::passage)), and below a handover those from which the thread was
//! started: what comes then was called by the code above.

mod expansion;
mod part;
mod regions;

use std::mem::take;
use std::ops::Range;
use std::thread;

use csprof_format::beside::MANY_NODES;
use csprof_format::profile as saved;

use self::expansion::Expansion;
use self::part::{MachineNodes, Made, Part, Tables};
use super::in_parts::{divided, of_each, processors};
use super::passage::{Passages, Starts};
use super::shared::Shared;
use super::spreads::SpreadsOfMachine;
use super::{MOST, Profile, Stream, Times};

impl Profile {
    /// Loads a saved profile.
    ///
    /// Relies on the reader's validation: parents before children, ids within their tables.
    #[must_use]
    pub fn from_saved(saved: saved::Profile) -> Self {
        let parts = if saved.nodes.len() >= MANY_NODES { processors() } else { 1 };
        Self::from_saved_in(saved, parts)
    }

    /// The same, the trees of which are divided into so many parts at most.
    pub(super) fn from_saved_in(mut saved: saved::Profile, parts: usize) -> Self {
        let trees = take(&mut saved.trees);
        let mut machine = take(&mut saved.nodes);
        let times = take(&mut saved.times);
        let mut structure = take(&mut saved.structure);
        let passages = Passages::of(&saved);
        let starts = Starts::of(&saved, &machine, &passages);
        let spreads = SpreadsOfMachine::taken(&mut saved, &trees, &machine);
        let root_samples = |tree: &saved::Tree| machine.samples.get(tree.first_node as usize);
        let are_paths_missing = trees.iter().filter_map(root_samples).any(|&samples| samples > 0);
        let expansion = Expansion::of(&mut saved, &structure, are_paths_missing);
        let is_tail_callee = match structure.tail_calls.is_empty() {
            true => Vec::new(),
            false => structure.tail_callees(saved.frames.len()),
        };
        let tables = Tables {
            structure: &structure,
            expansion: &expansion,
            leave_out: passages.are_any() || starts.are_any(),
            passages,
            starts,
            spreads,
            is_tail_callee,
            has_holders: !times.is_empty(),
            back: Tables::share_of_back(trees.len()),
        };
        let mut parts = made_in_parts(&tables, &saved, &trees, &mut machine, parts).into_iter();
        for further in &mut saved.further {
            further.samples = Vec::new();
        }
        // The kernel takes long to take much memory back, for which nobody is to wait. Without a
        // thread, it is taken back here.
        if machine.len() >= MANY_NODES {
            let _taken_back = thread::Builder::new().spawn(move || drop(machine));
        }
        let mut made = parts.next().unwrap_or_else(|| Made::none(saved.further.len()));
        parts.for_each(|part| made.append(part));
        let stream = |(tree, nodes): (&saved::Tree, _)| Stream {
            process: saved
                .threads
                .get(tree.thread.index())
                .map_or_else(Default::default, |thread| thread.process),
            thread: tree.thread,
            epoch: tree.epoch,
            nodes,
        };
        let streams: Vec<_> = trees.iter().zip(made.trees).map(stream).collect();
        let holder = |node: u32| made.holders.get(node as usize).copied().unwrap_or(0);
        let times = Times::loaded(&saved, &times, holder);
        let spreads = tables.spreads.map(|spreads| spreads.finish(made.places));
        let Expansion { interner, .. } = expansion;
        // Tail calls are nodes now, and the table of functions that they name is empty.
        structure.tail_calls.clear();
        saved.structure = structure;
        Self {
            info: saved.into(),
            functions: interner.functions.into(),
            frames: interner.frames.into(),
            nodes: made.nodes.finish(),
            streams: streams.into(),
            times: times.into(),
            spreads: spreads.unwrap_or_default().into(),
            comparison: None,
            derived: Shared::default(),
        }
    }
}

/// The source-level nodes of the trees, which are divided into so many parts at most.
fn made_in_parts(
    tables: &Tables<'_>,
    saved: &saved::Profile,
    trees: &[saved::Tree],
    machine: &mut saved::Nodes,
    parts: usize,
) -> Vec<Made> {
    // Of a made-up file, more samples than there is room for are left out, the last ones.
    let add = |sum: u64, thread: &saved::Thread| sum.saturating_add(thread.recorded);
    let parts = if saved.threads.iter().fold(0, add) > MOST { 1 } else { parts };
    let count = machine.len();
    let starts: Vec<_> = trees.iter().map(|tree| tree.first_node as usize).collect();
    let saved::Nodes { parent, frame, samples, edges } = machine;
    let (mut parent, mut frame, mut samples) = (&mut parent[..], &frame[..], &samples[..]);
    let mut edges = &mut edges[..];
    let part = |nodes: Range<usize>| {
        let place = |node: usize| starts.partition_point(|&start| start < node);
        let length = nodes.len();
        // Each machine node becomes one node or more; the first part has room for all.
        let room = if nodes.start == 0 { count } else { length };
        let machine = MachineNodes {
            first: nodes.start,
            parent: parent.split_off_mut(..length)?,
            frame: frame.split_off(..length)?,
            samples: samples.split_off(..length)?,
            edges: edges.split_off_mut(..length)?,
        };
        Some((&trees[place(nodes.start)..place(nodes.end)], machine, room))
    };
    let parts = divided(&starts, count, parts).into_iter().map_while(part).collect();
    let make = |(trees, nodes, room)| Part::make(tables, trees, nodes, &saved.further, room);
    of_each(parts, make)
}

#[cfg(test)]
mod tests;
