//! The source-level nodes of some trees, while they are made of the machine's.
//!
//! No tree knows of another, so trees are shared out among threads. Each part numbers its nodes
//! from 1, as if it were the only one, and is [put behind](Made::append) those before it. What
//! comes out does not depend on how trees are shared out.

use std::collections::HashMap;
use std::iter::Peekable;
use std::ops::Range;
use std::slice::Iter;

use csprof_format::ids::FrameId;
use csprof_format::profile as saved;

use super::super::passage::{Passages, Starts, is_behind};
use super::super::spreads::{NONE, SpreadsOfMachine};
use super::super::{FrameRef, NodesBuilder};
use super::expansion::Expansion;

/// Most calls of the collector's, one below the other, that are left out. Real paths have a few.
pub(super) const MAX_PASSED: u8 = 16;

/// Most left-out calls that are put back for work of the collector's own, in all trees together,
/// besides one for each machine node and each one that was left out. In a made-up file, each child
/// of a chain of calls would have the whole chain put back, which the
/// [budget](csprof_format::budget) does not count. Beyond a tree's share of this number, the work
/// hangs under the caller.
const MOST_BACK: usize = 1 << 16;

/// What nodes are made by, for all parts.
pub(super) struct Tables<'t> {
    pub(super) structure: &'t saved::Structure,
    pub(super) expansion: &'t Expansion,
    pub(super) passages: Passages,
    pub(super) starts: Starts,
    /// How costs are spread over ranks, in sums.
    pub(super) spreads: Option<SpreadsOfMachine>,
    pub(super) is_tail_callee: Vec<bool>,
    /// Whether any node may be left out.
    pub(super) leave_out: bool,
    /// Whether it is asked which node has the samples of a machine node.
    pub(super) has_holders: bool,
    /// Left-out calls that may be put back in each tree, besides those that always may.
    pub(super) back: usize,
}

impl Tables<'_> {
    /// The tree's share of [`MOST_BACK`].
    pub(super) fn share_of_back(trees: usize) -> usize {
        MOST_BACK / trees.max(1)
    }
}

/// Columns of machine nodes, those of some trees.
pub(super) struct MachineNodes<'m> {
    /// The number of the first of them in its profile.
    pub(super) first: usize,
    /// Parents, as numbers in the profile. Once a node is added, its parent is overwritten by the
    /// node under which its children hang; a table of its own would cost the time of new memory.
    pub(super) parent: &'m mut [u32],
    pub(super) frame: &'m [FrameId],
    pub(super) samples: &'m [u64],
    pub(super) edges: &'m mut [u64],
}

/// What was made of some trees.
pub(super) struct Made {
    pub(super) nodes: NodesBuilder,
    /// The nodes of each tree.
    pub(super) trees: Vec<Range<u32>>,
    /// The node that has the samples of each machine node; empty if it is not needed.
    pub(super) holders: Vec<u32>,
    /// Where it is said how the cost of each node is spread; empty if the profile is no sum.
    pub(super) places: Vec<u32>,
}

impl Made {
    /// The root alone.
    pub(super) fn none(further: usize) -> Self {
        let nodes = NodesBuilder::new(further);
        Self { nodes, trees: Vec::new(), holders: Vec::new(), places: Vec::new() }
    }

    /// Puts what was made of the next trees behind this.
    pub(super) fn append(&mut self, next: Self) {
        // Both have the root.
        let before = node_count(&self.nodes) - 1;
        self.nodes.append(next.nodes);
        let moved = |nodes: Range<u32>| nodes.start + before..nodes.end + before;
        self.trees.extend(next.trees.into_iter().map(moved));
        let moved = |holder| if holder == 0 { 0 } else { holder + before };
        self.holders.extend(next.holders.into_iter().map(moved));
        self.places.extend(next.places.into_iter().skip(1));
    }
}

/// The source-level nodes of some trees, while they are made.
pub(super) struct Part<'p> {
    tables: &'p Tables<'p>,
    machine: MachineNodes<'p>,
    /// Samples of each further metric on machine nodes that are not added yet.
    further: Vec<Peekable<Iter<'p, (u32, u64)>>>,
    /// How many machine nodes in a row, this one the last, only pass a call on; at most
    /// [`MAX_PASSED`]. Empty if none ever does.
    passed: Vec<u8>,
    /// The parents of these machine nodes.
    parent_of_passed: HashMap<usize, usize>,
    /// How many nodes may still be put back in this tree.
    back: usize,
    made: Made,
}

impl<'p> Part<'p> {
    /// Makes the nodes of these trees, which have these machine nodes.
    pub(super) fn make(
        tables: &'p Tables<'p>,
        trees: &[saved::Tree],
        machine: MachineNodes<'p>,
        further: &'p [saved::FurtherMetric],
        room: usize,
    ) -> Made {
        let further = further.iter().map(|metric| {
            let first =
                metric.samples.partition_point(|&(node, _)| (node as usize) < machine.first);
            metric.samples[first..].iter().peekable()
        });
        let further: Vec<_> = further.collect();
        let count = machine.parent.len();
        let mut made = Made::none(further.len());
        made.nodes.reserve(room);
        made.holders.resize(if tables.has_holders { count } else { 0 }, 0);
        let passed = vec![0; if tables.passages.are_any() { count } else { 0 }];
        let parent_of_passed = HashMap::new();
        let mut part = Self { tables, machine, further, passed, parent_of_passed, back: 0, made };
        let mut end = 0;
        for tree in trees {
            let first = node_count(&part.made.nodes);
            let nodes = end..count.min(end + tree.node_count as usize);
            end = nodes.end;
            part.back = nodes.len() + tables.back;
            for node in nodes {
                part.add(node);
                part.spread(node);
            }
            part.made.trees.push(first..node_count(&part.made.nodes));
        }
        part.made
    }

    /// Notes how the cost of a machine node's source-level nodes is spread. The node for samples
    /// without a path, directly below the root, has none: the root's spread is of all that is
    /// below.
    fn spread(&mut self, node: usize) {
        let Some(spreads) = &self.tables.spreads else { return };
        let place = match self.machine.parent[node] {
            0 => NONE,
            _ => spreads.place(self.machine.first + node),
        };
        self.made.places.resize(self.made.nodes.len(), place);
    }

    /// Adds the source-level nodes of a machine node, whose parent was added before.
    #[inline]
    fn add(&mut self, node: usize) {
        let (tables, machine) = (self.tables, &mut self.machine);
        let parent = machine.parent[node] as usize - machine.first;
        let (frame, samples) = (machine.frame[node], machine.samples[node]);
        let mut edges = machine.edges[node];
        if parent == node {
            machine.parent[node] = 0;
            if let Some(frame) = tables.expansion.no_path.filter(|_| samples > 0) {
                let at = self.made.nodes.push(0, frame, samples, 0);
                self.share(node, at);
            }
            return;
        }
        let mut above = machine.parent[parent];
        let passed = self.passed.get(parent).copied().unwrap_or(0);
        // In a sum, of all trees that have the path.
        let counts = |spreads: &SpreadsOfMachine| spreads.counts(machine.first + node);
        let is_passage =
            tables.leave_out && samples == 0 && !tables.spreads.as_ref().is_some_and(counts);
        if is_passage && tables.starts.has(machine.first + node) {
            machine.parent[node] = above;
            return;
        }
        let frames = tables.expansion.frames.of(frame);
        if tables.passages.may_be(frame) && passed < MAX_PASSED && is_passage {
            (machine.parent[node], self.passed[node]) = (above, passed + 1);
            self.parent_of_passed.insert(node, parent);
            self.back += frames.len();
            return;
        }
        if passed > 0 {
            above = self.work_behind(parent, frame, above);
        }
        if tables.is_tail_callee.get(frame.index()) == Some(&true) {
            let caller = self.machine.frame[parent];
            for function in tables.structure.tail_calls_between(caller, frame) {
                above = self.made.nodes.push(above, tables.expansion.left[function], 0, 0);
            }
        }
        let last = frames.end - 1;
        for number in frames {
            let samples = if number == last { samples } else { 0 };
            above = self.made.nodes.push(above, FrameRef(number), samples, edges);
            edges = 0;
        }
        self.share(node, above);
        self.machine.parent[node] = above;
    }

    /// Gives the node with the samples of a machine node the further metrics' shares of them.
    #[inline]
    fn share(&mut self, machine: usize, node: u32) {
        if let Some(holder) = self.made.holders.get_mut(machine) {
            *holder = node;
        }
        if self.further.is_empty() {
            return;
        }
        let number = self.machine.first + machine;
        let nodes = &mut self.made.nodes;
        // Of a made-up file, some of the node's samples may have been left out.
        let mut rest = nodes.samples.at(node as usize);
        for (left, column) in self.further.iter_mut().zip(&mut nodes.further) {
            if let Some(&(_, samples)) = left.next_if(|&&(at, _)| at as usize == number) {
                let samples = samples.min(rest);
                column.set(node as usize, samples);
                rest -= samples;
            }
        }
    }

    /// The node under which to hang a frame that was called through left-out machine nodes, the
    /// last of which is `parent`: `above` if they passed a call of the program's on. Otherwise it
    /// is work of the collector's own, and they are put back.
    fn work_behind(&mut self, parent: usize, frame: FrameId, mut above: u32) -> u32 {
        let Tables { expansion, passages, .. } = self.tables;
        let mut chain = vec![parent];
        let mut node = parent;
        while self.passed[node] > 1 {
            node = self.parent_of_passed[&node];
            chain.push(node);
        }
        let outermost = self.machine.frame[node];
        let name = |frame| expansion.interner.name(expansion.frames.outermost(frame));
        if !passages.is_own(frame) && is_behind(name(outermost), name(frame)) {
            return above;
        }
        let frames = |node: usize| expansion.frames.of(self.machine.frame[node]);
        let count = chain.iter().map(|&node| frames(node).len()).sum();
        let Some(rest) = self.back.checked_sub(count) else { return above };
        self.back = rest;
        for &node in chain.iter().rev() {
            // Once: other work of the same call comes back below frames of its own.
            let mut edges = std::mem::take(&mut self.machine.edges[node]);
            for number in frames(node) {
                above = self.made.nodes.push(above, FrameRef(number), 0, edges);
                edges = 0;
            }
        }
        above
    }
}

fn node_count(nodes: &NodesBuilder) -> u32 {
    u32::try_from(nodes.len()).unwrap_or(u32::MAX)
}
