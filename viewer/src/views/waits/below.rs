//! How much of a path's imbalance is that of the waits below it.

use std::collections::BTreeMap;

use super::super::peer_costs::PeerCosts;
use super::super::statistics::noise_bounds;
use crate::profile::MetricRef;
use crate::refine::Refined;

/// What a longer path has of the imbalance of one that is not listed then, in percent.
pub(super) const ELSEWHERE: u128 = 90;

/// What paths have in waits below them.
pub(super) struct WaitsBelow<'w> {
    refined: &'w Refined,
    metric: MetricRef,
    costs: &'w PeerCosts<'w>,
    /// Samples in waits of each node and of those below it, where each peer has nodes of its own.
    of_nodes: Vec<u64>,
    /// Of each path the imbalances of single waits, added up, and how many these are.
    of_paths: Vec<(u64, u32)>,
}

impl<'w> WaitsBelow<'w> {
    /// Of so many paths, which are then passed up, those that are longer first.
    pub(super) fn new(
        refined: &'w Refined,
        metric: MetricRef,
        costs: &'w PeerCosts<'w>,
        paths: usize,
    ) -> Self {
        let nodes = if costs.is_of_each() { refined.node_count() } else { 0 };
        Self { refined, metric, costs, of_nodes: vec![0; nodes], of_paths: vec![(0, 0); paths] }
    }

    /// What a path has in waits is also what the path above it has. These are its nodes.
    pub(super) fn pass_up(
        &mut self,
        nodes: impl Iterator<Item = u32>,
        is_wait: bool,
        path: usize,
        above: usize,
    ) {
        let (imbalances, waits) = self.of_paths[path];
        self.of_paths[above].0 = self.of_paths[above].0.saturating_add(imbalances);
        self.of_paths[above].1 += waits;
        if self.of_nodes.is_empty() {
            return;
        }
        for node in nodes {
            if is_wait {
                self.of_nodes[node as usize] = self.samples(node);
            }
            let waited = self.of_nodes[node as usize];
            self.of_nodes[self.refined.parent[node as usize] as usize] += waited;
        }
    }

    /// Adds the imbalance of a wait to what is known of the path above it.
    pub(super) fn add(&mut self, imbalance: u64, above: usize) {
        if imbalance > 0 {
            self.of_paths[above].0 = self.of_paths[above].0.saturating_add(imbalance);
            self.of_paths[above].1 += 1;
        }
    }

    /// Whether a path differs by this imbalance because waits below it do: what it has outside of
    /// them is even, but for a tenth or sampling noise. Of a sum it may be so, and then is taken to
    /// be: of several waits that each differ less is known together.
    pub(super) fn have(
        &self,
        imbalance: u64,
        nodes: impl Iterator<Item = u32>,
        path: usize,
        per_signal: f64,
    ) -> bool {
        let is_small =
            |rest: u64| u128::from(rest) * 100 <= u128::from(imbalance) * (100 - ELSEWHERE);
        match self.of_paths[path] {
            (_, 0) => false,
            _ if !self.of_nodes.is_empty() => {
                let (most, sum) = self.outside(nodes);
                let peers = u64::from(self.costs.count());
                let mean = sum as f64 / peers.max(1) as f64;
                let [_, high] = noise_bounds(self.costs.count() as usize, mean, per_signal);
                is_small(most.saturating_mul(peers).saturating_sub(sum)) || most as f64 <= high
            }
            (of_wait, 1) => is_small(imbalance.abs_diff(of_wait)),
            (of_waits, _) => is_small(imbalance.saturating_sub(of_waits)),
        }
    }

    /// Inclusive samples.
    fn samples(&self, node: u32) -> u64 {
        self.refined.of_metric(node as usize, self.metric).0
    }

    /// The most that a peer has at these nodes outside of waits, and what all have.
    fn outside(&self, nodes: impl Iterator<Item = u32>) -> (u64, u64) {
        let mut of_peers: BTreeMap<usize, u64> = BTreeMap::new();
        for node in nodes {
            if let Some(place) = self.costs.place(node) {
                let samples = self.samples(node).saturating_sub(self.of_nodes[node as usize]);
                *of_peers.entry(place).or_default() += samples;
            }
        }
        (of_peers.values().copied().max().unwrap_or(0), of_peers.values().sum())
    }
}
