//! How the costs of a sum are spread over its ranks, by the nodes of the loaded profile.
//!
//! A path is one node of the sum, and one of each rank that is kept apart: all of them lead to the
//! one place that says how its inclusive cost is spread over all ranks.

use csprof_format::ids::ThreadId;
use csprof_format::profile::{self as saved, RankSums, Tree};

use super::role::Role;

/// Stands for no place.
const NONE: u32 = u32::MAX;

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
}

/// The place of each node of a saved profile, while it is loaded.
#[derive(Debug)]
pub(super) struct SpreadsOfMachine {
    of_machine: Vec<u32>,
    spreads: Spreads,
}

impl Spreads {
    /// Those of a profile of one metric and so many nodes, all of which are spread alike.
    #[cfg(test)]
    pub(crate) fn alike(ranks: u32, nodes: usize, of: RankSums) -> Self {
        Self { ranks, metrics: 1, of_node: vec![0; nodes], sums: vec![of] }
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
        // Of what is in no spread, such as the paths of a launcher, no rank has anything.
        let mut places = 1;
        spreads.sums.resize(metrics, RankSums::default());
        for tree in trees.iter().filter(|tree| process_of(saved, tree.thread).rank.is_none()) {
            let range = tree.first_node as usize..(tree.first_node + tree.node_count) as usize;
            of_machine[range].fill(0);
        }
        for spread in std::mem::take(&mut saved.spreads) {
            let place = &mut of_machine[spread.node as usize];
            if *place == 0 {
                *place = places;
                places += 1;
                spreads.sums.resize(spreads.sums.len() + metrics, RankSums::default());
            }
            let start = *place as usize * metrics;
            spreads.sums[start + usize::from(spread.metric)] = spread.of;
        }
        for tree in trees {
            if process_of(saved, tree.thread).rank.is_some()
                && let Some(whole) = whole_of(saved, trees, tree)
            {
                follow(nodes, whole, tree, &mut of_machine);
            }
        }
        Some(Self { of_machine, spreads })
    }

    /// Says that nodes of the loaded profile, up to the one before `end`, are of a node of the
    /// saved one.
    pub(super) fn add(&mut self, machine: usize, end: usize) {
        let place = self.of_machine.get(machine).copied().unwrap_or(NONE);
        self.spreads.of_node.resize(end, place);
    }

    /// Says that there is nothing to say of the nodes up to the one before `end`.
    pub(super) fn skip(&mut self, end: usize) {
        self.spreads.of_node.resize(end, NONE);
    }

    pub(super) fn finish(self) -> Spreads {
        self.spreads
    }
}

fn process_of(saved: &saved::Profile, thread: ThreadId) -> &saved::Process {
    &saved.processes[saved.threads[thread.index()].process.index()]
}

/// The tree of all ranks, of the same program, role and phase as one of a rank that is kept apart.
fn whole_of<'t>(saved: &saved::Profile, trees: &'t [Tree], tree: &Tree) -> Option<&'t Tree> {
    let process = saved.threads[tree.thread.index()].process;
    // The ranks of a program come after what they were summed into.
    let before = &saved.processes[..process.index()];
    let sum = before.iter().rposition(|process| process.rank.is_none())?;
    let role =
        |tree: &Tree| Role::of(&saved.threads[tree.thread.index()], process_of(saved, tree.thread));
    let (own, phase) = (role(tree), saved.phase_of(tree.epoch));
    trees.iter().find(|whole| {
        saved.threads[whole.thread.index()].process.index() == sum
            && role(whole) == own
            && saved.phase_of(whole.epoch) == phase
    })
}

/// Gives the nodes of a tree the places that the same paths have in the whole one. Both are in
/// pre-order, and children in the order of their frames.
fn follow(nodes: &saved::Nodes, whole: &Tree, tree: &Tree, places: &mut [u32]) {
    let range = |tree: &Tree| tree.first_node..tree.first_node + tree.node_count;
    let mut rest = range(whole);
    // The node of the whole tree, of each node of the other.
    let mut same: Vec<u32> = Vec::with_capacity(tree.node_count as usize);
    for node in range(tree) {
        let is_root = node == tree.first_node;
        let above = nodes.parent[node as usize] - tree.first_node;
        let parent = same.get(above as usize).copied();
        let frame = nodes.frame[node as usize];
        let is_same = |&other: &u32| {
            let at = other as usize;
            nodes.frame[at] == frame && (is_root || Some(nodes.parent[at]) == parent)
        };
        // A made-up file may have a path that the whole has not.
        let Some(found) = rest.find(is_same) else { return };
        places[node as usize] = places[found as usize];
        same.push(found);
    }
}
