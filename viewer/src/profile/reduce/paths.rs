//! The calling context tree that all ranks share, what its nodes cost, and how that is spread.

use std::collections::BTreeMap;
use std::ops::Range;

use csprof_format::ids::FrameId;
use csprof_format::profile::{self as saved, RankSums};
use rustc_hash::FxHashMap;

use super::super::role::Role;
use super::roles::Group;

/// What trees have in common that are one tree of a sum.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct TreeKey {
    pub(super) group: Group,
    pub(super) role: Role,
    pub(super) phase: Option<String>,
}

/// A node's parent is smaller than it; a root is its own parent.
#[derive(Debug)]
pub(super) struct Paths {
    metrics: usize,
    pub(super) parent: Vec<u32>,
    pub(super) frame: Vec<FrameId>,
    children: FxHashMap<(u32, FrameId), u32>,
    pub(super) roots: BTreeMap<TreeKey, u32>,
    /// Exclusive samples of each metric and then edges, of all that is not kept apart.
    counts: Vec<u64>,
    /// Inclusive cost of each metric, over all ranks.
    spreads: Vec<RankSums>,
}

/// What one rank has of the tree, in ascending order of nodes; with each node its parent is there.
#[derive(Debug, Default)]
pub(super) struct RankCounts {
    pub(super) nodes: Vec<u32>,
    /// As [`Paths::counts`].
    counts: Vec<u64>,
}

/// A rank leads where it has most of all, if that is a tenth of what it has at least. Only from
/// frames that it has called from: a function that is sampled has many addresses, of which another
/// rank has most of each by chance, and all that is sampled in it is below the call of it.
const LEAD: u128 = 10;

impl Paths {
    pub(super) fn new(metrics: usize) -> Self {
        Self {
            metrics,
            parent: Vec::new(),
            frame: Vec::new(),
            children: FxHashMap::default(),
            roots: BTreeMap::new(),
            counts: Vec::new(),
            spreads: Vec::new(),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.parent.len()
    }

    /// Adds the paths of a tree, and appends the node of each of its nodes.
    pub(super) fn add_tree(
        &mut self,
        key: TreeKey,
        nodes: &saved::Nodes,
        tree: Range<usize>,
        frames: &[FrameId],
        out: &mut Vec<u32>,
    ) {
        let (first, start) = (tree.start, out.len());
        for node in tree {
            let frame = frames[nodes.frame[node].index()];
            let here = if node == first {
                match self.roots.get(&key) {
                    Some(&root) => root,
                    None => {
                        let root = self.push(None, frame);
                        self.roots.insert(key.clone(), root);
                        root
                    }
                }
            } else {
                let parent = out[start + nodes.parent[node] as usize - first];
                match self.children.get(&(parent, frame)) {
                    Some(&child) => child,
                    None => {
                        let child = self.push(Some(parent), frame);
                        self.children.insert((parent, frame), child);
                        child
                    }
                }
            };
            out.push(here);
        }
    }

    fn push(&mut self, parent: Option<u32>, frame: FrameId) -> u32 {
        // A part and the sum have fewer nodes than a third of what 32 bits number.
        let node = self.parent.len() as u32;
        self.parent.push(parent.unwrap_or(node));
        self.frame.push(frame);
        self.counts.resize(self.counts.len() + self.metrics + 1, 0);
        self.spreads.resize(self.spreads.len() + self.metrics, RankSums::default());
        node
    }

    /// What is not kept apart: exclusive samples of each metric, and then edges.
    pub(super) fn counts(&self, node: u32) -> &[u64] {
        &self.counts[node as usize * (self.metrics + 1)..][..self.metrics + 1]
    }

    /// Adds to what is not kept apart.
    pub(super) fn count(&mut self, node: u32, counts: &[u64]) {
        let sums = &mut self.counts[node as usize * (self.metrics + 1)..][..self.metrics + 1];
        add_counts(sums, counts);
    }

    /// How a cost is spread over the ranks.
    pub(super) fn spread(&self, node: u32, metric: usize) -> &RankSums {
        &self.spreads[node as usize * self.metrics + metric]
    }

    /// Adds ranks to those that a cost is spread over.
    pub(super) fn spread_over(&mut self, node: u32, metric: usize, of: &RankSums) {
        self.spreads[node as usize * self.metrics + metric].add(of);
    }

    /// Where a rank may lead: nodes and metrics of which it has a tenth of all that it has. If
    /// `is_new`, its costs are added to what ranks have.
    pub(super) fn leads(&mut self, rank: u32, of: &RankCounts, is_new: bool) -> Vec<(u32, usize)> {
        let metrics = self.metrics;
        let mut inclusive = vec![0_u64; of.nodes.len() * metrics];
        let mut totals = vec![0_u64; metrics];
        for (at, &node) in of.nodes.iter().enumerate().rev() {
            let own = of.counts_at(at, metrics);
            for metric in 0..metrics {
                let here = &mut inclusive[at * metrics + metric];
                *here = here.saturating_add(own[metric]);
                let samples = *here;
                let parent = self.parent[node as usize];
                if parent == node {
                    totals[metric] = totals[metric].saturating_add(samples);
                } else if let Ok(above) = of.nodes.binary_search(&parent) {
                    let above = &mut inclusive[above * metrics + metric];
                    *above = above.saturating_add(samples);
                }
                if is_new && samples > 0 {
                    self.spread_over(node, metric, &RankSums::of_rank(rank, samples));
                }
            }
        }
        let mut has_below = vec![false; of.nodes.len()];
        for &node in &of.nodes {
            if let Ok(above) = of.nodes.binary_search(&self.parent[node as usize]) {
                has_below[above] |= of.nodes[above] != node;
            }
        }
        let mut leads = Vec::new();
        for (at, &node) in of.nodes.iter().enumerate().filter(|&(at, _)| has_below[at]) {
            for metric in 0..metrics {
                let samples = u128::from(inclusive[at * metrics + metric]);
                if samples > 0 && samples * LEAD >= totals[metric].into() {
                    leads.push((node, metric));
                }
            }
        }
        leads
    }

    /// Whether a rank has most of a node.
    pub(super) fn is_lead(&self, rank: u32, (node, metric): (u32, usize)) -> bool {
        self.spread(node, metric).most_rank == rank
    }

    /// The children of every node, by the number that frames will have: the node's range in the
    /// list.
    pub(super) fn sorted_children(&self, frames: &[FrameId]) -> (Vec<u32>, Vec<u32>) {
        let is_child = |node: &u32| self.parent[*node as usize] != *node;
        let mut list: Vec<u32> = (0..self.len() as u32).filter(is_child).collect();
        let key = |node: u32| {
            let (parent, frame) = (self.parent[node as usize], self.frame[node as usize]);
            (parent, frames[frame.index()])
        };
        list.sort_unstable_by_key(|&node| key(node));
        let mut first = vec![0_u32; self.len() + 1];
        for &node in &list {
            first[self.parent[node as usize] as usize + 1] += 1;
        }
        for node in 0..self.len() {
            first[node + 1] += first[node];
        }
        (list, first)
    }
}

impl RankCounts {
    /// Of nodes of a part, each with its node in the tree, which may come several times.
    pub(super) fn new(
        mut nodes: Vec<(u32, u32)>,
        metrics: usize,
        mut counts: impl FnMut(u32, &mut [u64]),
    ) -> Self {
        nodes.sort_unstable();
        let mut own = Self::default();
        let mut of_node = vec![0; metrics + 1];
        for (node, of_part) in nodes {
            if own.nodes.last() != Some(&node) {
                own.nodes.push(node);
                own.counts.resize(own.counts.len() + metrics + 1, 0);
            }
            counts(of_part, &mut of_node);
            let start = own.counts.len() - metrics - 1;
            add_counts(&mut own.counts[start..], &of_node);
        }
        own
    }

    /// What it has of the node at a place of its list.
    pub(super) fn counts_at(&self, at: usize, metrics: usize) -> &[u64] {
        &self.counts[at * (metrics + 1)..][..metrics + 1]
    }
}

fn add_counts(sums: &mut [u64], counts: &[u64]) {
    for (sum, &count) in sums.iter_mut().zip(counts) {
        *sum = sum.saturating_add(count);
    }
}
