//! How the costs of a sum are spread over its ranks, by the nodes of the loaded profile.
//!
//! A path is one node of the sum, and one of each rank that is kept apart: all of them lead to the
//! one place that says how its inclusive cost is spread over all ranks.

use csprof_format::ids::{FrameId, ThreadId};
use csprof_format::profile::{self as saved, RankSums, Tree};
use rustc_hash::FxHashMap;

use super::role::Role;

/// Stands for no place.
pub(super) const NONE: u32 = u32::MAX;

/// The place of what no rank has anything of, such as the paths of a launcher.
const OF_NO_RANK: u32 = 0;

/// How inclusive costs are spread over ranks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Spreads {
    /// How many ranks the sum is of.
    ranks: u32,
    metrics: usize,
    /// The place of each node.
    of_node: Vec<u32>,
    /// Of each place, one for each metric.
    sums: Vec<RankSums>,
    /// Of each place that of the path without its last frame, and that of its first frame; a first
    /// frame has its own.
    above: Vec<[u32; 2]>,
}

/// The place of each node of a saved profile, while it is loaded.
#[derive(Debug)]
pub(super) struct SpreadsOfMachine {
    of_machine: Vec<u32>,
    /// Whether the path of each node has samples of its own in any tree.
    counts: Vec<bool>,
    spreads: Spreads,
}

impl Spreads {
    /// Those of a profile of one metric and so many nodes, all of which are spread alike.
    #[cfg(test)]
    pub(crate) fn alike(ranks: u32, nodes: usize, of: RankSums) -> Self {
        Self { ranks, metrics: 1, of_node: vec![0; nodes], sums: vec![of], above: vec![[0; 2]] }
    }

    /// How many ranks the sum is of; 0 in profiles that are no sums.
    #[must_use]
    pub fn ranks(&self) -> u32 {
        self.ranks
    }

    /// Where it is said of a node.
    #[must_use]
    pub fn place(&self, node: u32) -> Option<u32> {
        self.of_node.get(node as usize).copied().filter(|&place| place != NONE)
    }

    /// Whether it is the place of what no rank has.
    #[must_use]
    pub fn is_of_no_rank(place: u32) -> bool {
        place == OF_NO_RANK
    }

    /// The place of the recorded path without its last frame; its own of a first frame.
    #[must_use]
    pub fn above(&self, place: u32) -> u32 {
        self.above.get(place as usize).map_or(place, |[above, _]| *above)
    }

    /// The place of the first frame of a recorded path, below which is all that its threads have.
    #[must_use]
    pub fn first(&self, place: u32) -> u32 {
        self.above.get(place as usize).map_or(place, |[_, first]| *first)
    }

    /// What ranks have at a place, of each metric.
    #[must_use]
    pub fn at(&self, place: u32) -> &[RankSums] {
        let start = place as usize * self.metrics;
        self.sums.get(start..start + self.metrics).unwrap_or_default()
    }
}

impl SpreadsOfMachine {
    /// Takes them out of a saved profile, whose trees and nodes these are.
    pub(super) fn taken(
        saved: &mut saved::Profile,
        trees: &[Tree],
        nodes: &saved::Nodes,
    ) -> Option<Self> {
        if !saved.is_sum() {
            return None;
        }
        let metrics = saved.further.len() + 1;
        let ranks = u32::try_from(saved.summed_ranks().len()).unwrap_or(u32::MAX);
        let mut spreads = Spreads { ranks, metrics, ..Spreads::default() };
        let mut of_machine = vec![NONE; nodes.len()];
        // Of what is in no spread no rank has anything.
        let mut places = OF_NO_RANK + 1;
        spreads.sums.resize(metrics, RankSums::default());
        spreads.above.push([OF_NO_RANK; 2]);
        for tree in trees.iter().filter(|tree| process_of(saved, tree.thread).rank.is_none()) {
            let range = tree.first_node as usize..(tree.first_node + tree.node_count) as usize;
            of_machine[range].fill(OF_NO_RANK);
        }
        for spread in std::mem::take(&mut saved.spreads) {
            if of_machine[spread.node as usize] == OF_NO_RANK {
                // A parent comes before; in a made-up file it may be in no spread.
                let above = of_machine[nodes.parent[spread.node as usize] as usize];
                let above = if above == OF_NO_RANK { places } else { above };
                let first = spreads.above.get(above as usize).map_or(places, |[_, first]| *first);
                spreads.above.push([above, first]);
                of_machine[spread.node as usize] = places;
                places += 1;
                spreads.sums.resize(spreads.sums.len() + metrics, RankSums::default());
            }
            let start = of_machine[spread.node as usize] as usize * metrics;
            spreads.sums[start + usize::from(spread.metric)] = spread.of;
        }
        let mut counts: Vec<bool> = nodes.samples.iter().map(|&samples| samples > 0).collect();
        let same = same_paths(saved, trees, nodes);
        for &(node, whole) in &same {
            of_machine[node as usize] = of_machine[whole as usize];
            counts[whole as usize] |= counts[node as usize];
        }
        for &(node, whole) in &same {
            counts[node as usize] = counts[whole as usize];
        }
        Some(Self { of_machine, counts, spreads })
    }

    /// Whether the path of a node has samples of its own, of whichever rank: so that the same is
    /// made of it in all trees.
    pub(super) fn counts(&self, machine: usize) -> bool {
        self.counts.get(machine).is_some_and(|counts| *counts)
    }

    /// The place of the nodes that are made of a machine node.
    pub(super) fn place(&self, machine: usize) -> u32 {
        self.of_machine.get(machine).copied().unwrap_or(NONE)
    }

    /// The spreads, with the place of each node that was made.
    pub(super) fn finish(self, of_node: Vec<u32>) -> Spreads {
        Spreads { of_node, ..self.spreads }
    }
}

fn process_of(saved: &saved::Profile, thread: ThreadId) -> &saved::Process {
    &saved.processes[saved.threads[thread.index()].process.index()]
}

/// Nodes of ranks that are kept apart, each with the node of the same path in the tree of all ranks
/// that has the same program, role and phase. O(nodes).
fn same_paths(saved: &saved::Profile, trees: &[Tree], nodes: &saved::Nodes) -> Vec<(u32, u32)> {
    // The ranks of a program come after what they were summed into.
    let mut sum = None;
    let sum_of_process: Vec<Option<usize>> = (saved.processes.iter().enumerate())
        .map(|(number, process)| {
            sum = if process.rank.is_none() { Some(number) } else { sum };
            sum
        })
        .collect();
    let key = |tree: &Tree| {
        let thread = &saved.threads[tree.thread.index()];
        let process = &saved.processes[thread.process.index()];
        let sum = sum_of_process[thread.process.index()];
        (sum, Role::of(thread, process), saved.phase_of(tree.epoch))
    };
    let is_kept = |tree: &&Tree| process_of(saved, tree.thread).rank.is_some();
    if !trees.iter().any(|tree| is_kept(&tree)) {
        return Vec::new();
    }
    let range = |tree: &Tree| tree.first_node..tree.first_node + tree.node_count;
    let mut roots = FxHashMap::default();
    let mut children: FxHashMap<(u32, FrameId), u32> = FxHashMap::default();
    for whole in trees.iter().filter(|tree| !is_kept(tree)) {
        // Of a made-up file, the first of several.
        roots.entry(key(whole)).or_insert(whole.first_node);
        for node in range(whole).skip(1) {
            let at = node as usize;
            children.entry((nodes.parent[at], nodes.frame[at])).or_insert(node);
        }
    }
    let mut same = Vec::new();
    for tree in trees.iter().filter(is_kept) {
        let Some(&root) = roots.get(&key(tree)).filter(|_| tree.node_count > 0) else { continue };
        let first = same.len();
        same.push((tree.first_node, root));
        for node in range(tree).skip(1) {
            let at = node as usize;
            let above = first + (nodes.parent[at] - tree.first_node) as usize;
            let found = same.get(above).and_then(|&(_, whole): &(u32, u32)| {
                children.get(&(whole, nodes.frame[at])).copied()
            });
            // A made-up file may have a path that the whole has not.
            let Some(found) = found else { break };
            same.push((node, found));
        }
    }
    same
}

#[cfg(test)]
mod tests;
