//! Sums of nodes, of which rows are made: one for each weight column.
//!
//! While they are made, the sum of the first metric counts the samples of all metrics together, as
//! the columns of nodes do. Which nodes are outermost, and which return, is decided by these, too.

use super::outermost::Standing;
use super::row::{Edges, Weight, Weights};
use crate::profile::Count;
use crate::refine::{CostsOf, Refined};

/// Samples of all nodes: of all metrics together, or of a further one.
#[derive(Clone, Copy)]
pub(super) struct Samples<'r, C> {
    pub(super) inclusive: &'r [C],
    pub(super) exclusive: &'r [C],
}

/// Exclusive samples and edges of nodes.
#[derive(Clone, Copy, Default)]
pub(super) struct Own<C> {
    exclusive: C,
    /// Least and greatest possible count. In a tree of callers, every node of a path has the edges
    /// of the function at its root, so a sum needs more bits than a node.
    edges_low: u64,
    edges_high: u64,
    /// Inclusive samples of the nodes that have edges; each has some.
    edge_samples: u64,
}

/// The sums of some nodes for one column.
#[derive(Clone, Copy, Default)]
pub(super) struct Sums<C> {
    pub(super) inclusive: C,
    exclusive: C,
    /// Exclusive samples and edges.
    edges_low: u64,
    edges_high: u64,
    /// The same of the outermost nodes that have edges, and their inclusive samples.
    outer_low: u64,
    outer_high: u64,
    pub(super) edge_samples: u64,
}

impl<'r, C: Count> Samples<'r, C> {
    /// The samples of each metric, in their order.
    pub(super) fn of_metrics(costs: &'r CostsOf<C>) -> impl Iterator<Item = Self> {
        costs
            .samples()
            .map(|columns| Self { inclusive: &columns.inclusive, exclusive: &columns.exclusive })
    }

    /// Exclusive samples of a node, and these edges.
    #[inline]
    pub(super) fn own(&self, refined: &Refined, node: usize, edges: Option<(C, C)>) -> Own<C> {
        let (inclusive, exclusive) = (self.inclusive[node], self.exclusive[node]);
        let (low, high) = edges.unwrap_or_default();
        let samples = if edges.is_some() { inclusive } else { C::default() };
        Own {
            exclusive: refined.own(node, inclusive, exclusive),
            edges_low: low.into(),
            edges_high: high.into(),
            edge_samples: samples.into(),
        }
    }
}

impl<C: Count> Own<C> {
    /// Whether one of the nodes has edges, and samples of the metric.
    pub(super) fn has_edges(self) -> bool {
        self.edge_samples > 0
    }
}

impl<C: Count> Sums<C> {
    /// Adds a node with these inclusive samples.
    #[inline]
    pub(super) fn add(&mut self, inclusive: C, own: Own<C>, standing: Standing) {
        self.add_inclusive(inclusive, standing.is_outermost);
        self.add_own(own);
        if standing.is_outermost_call {
            self.add_outer(own);
        }
    }

    /// Adds inclusive samples of a node, if it is outermost.
    #[inline]
    pub(super) fn add_inclusive(&mut self, inclusive: C, is_outermost: bool) {
        self.inclusive += if is_outermost { inclusive } else { C::default() };
    }

    #[inline]
    pub(super) fn add_own(&mut self, own: Own<C>) {
        self.exclusive += own.exclusive;
        self.edges_low = self.edges_low.saturating_add(own.edges_low);
        self.edges_high = self.edges_high.saturating_add(own.edges_high);
    }

    /// Adds the edges of a node that is outermost among those with edges.
    #[inline]
    pub(super) fn add_outer(&mut self, own: Own<C>) {
        self.outer_low = self.outer_low.saturating_add(own.edges_low);
        self.outer_high = self.outer_high.saturating_add(own.edges_high);
        self.edge_samples = self.edge_samples.saturating_add(own.edge_samples);
    }

    /// Adds the sums of other nodes.
    pub(super) fn add_sums(&mut self, other: &Self) {
        self.inclusive += other.inclusive;
        self.exclusive += other.exclusive;
        self.edges_low = self.edges_low.saturating_add(other.edges_low);
        self.edges_high = self.edges_high.saturating_add(other.edges_high);
        self.outer_low = self.outer_low.saturating_add(other.outer_low);
        self.outer_high = self.outer_high.saturating_add(other.outer_high);
        self.edge_samples = self.edge_samples.saturating_add(other.edge_samples);
    }

    /// The sums minus those of a part. Saturates, because sums may have saturated.
    pub(super) fn without(self, part: &Self) -> Self {
        Self {
            inclusive: self.inclusive - part.inclusive,
            exclusive: self.exclusive - part.exclusive,
            edges_low: self.edges_low.saturating_sub(part.edges_low),
            edges_high: self.edges_high.saturating_sub(part.edges_high),
            outer_low: self.outer_low.saturating_sub(part.outer_low),
            outer_high: self.outer_high.saturating_sub(part.outer_high),
            edge_samples: self.edge_samples.saturating_sub(part.edge_samples),
        }
    }
}

/// Whether what an edge costs is known of a row.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum PerEdge {
    /// It is certain which of its nodes are those of outermost activations, and all their samples
    /// are of these.
    Known,
    /// It has no cost per edge.
    Unknown,
}

impl PerEdge {
    /// What is known of a row that may be [mixed](super::outermost::is_mixed).
    pub(super) fn of_row(knows_outermost: bool, is_mixed: bool) -> Self {
        if knows_outermost && !is_mixed { Self::Known } else { Self::Unknown }
    }
}

/// The weights of a row, of the sums of all columns in their order.
pub(super) fn weights<C: Count>(refined: &Refined, sums: &[Sums<C>], per_edge: PerEdge) -> Weights {
    let has_edges = refined.profile.info.run.trampoline;
    // In a tree of callers, nodes below count the same returns as those above.
    let is_nested = refined.is_of_callers();
    let weight = move |of_metrics: &[Sums<C>], metric: usize| {
        let (all, further) = (of_metrics[0], &of_metrics[1..]);
        let edges = |low, high| match all.edge_samples {
            1.. if has_edges => Edges::Range { low, high },
            _ => Edges::None,
        };
        let outer_edges = edges(all.outer_low, all.outer_high);
        // The first metric has the samples that no further metric has.
        let own = match metric {
            0 => further.iter().fold(all, Sums::without),
            _ => of_metrics[metric],
        };
        Weight {
            inclusive: own.inclusive.into(),
            exclusive: own.exclusive.into(),
            edges: if is_nested { outer_edges } else { edges(all.edges_low, all.edges_high) },
            edge_samples: if has_edges { own.edge_samples } else { 0 },
            outer_edges: match per_edge {
                PerEdge::Known => outer_edges,
                PerEdge::Unknown => Edges::None,
            },
        }
    };
    let parts = sums.chunks(refined.accounts.len());
    let weights = parts.flat_map(|part| (0..part.len()).map(move |metric| weight(part, metric)));
    if refined.profile.comparison.is_none() {
        return weights.collect();
    }
    refined.in_row(weights.collect()).into_iter().collect()
}
