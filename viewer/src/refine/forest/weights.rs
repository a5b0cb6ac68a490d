//! The columns of weights of a forest: what each of its rows has samples and edges of.
//!
//! A column is of one metric on a range of nodes, the paths of which are apart from those of all
//! others: those of the whole forest come first, one for each metric; then those of each *part*,
//! where there are several. One metric of the whole is looked at ([`Refined::metric`]).

use std::ops::Range;

use super::children::node_number;
use super::refined::Refined;
use crate::profile::{MetricRef, Stream};

/// A metric, and the nodes on which its samples are added up.
#[derive(Clone, Debug)]
pub(crate) struct WeightColumn {
    pub(crate) metric: MetricRef,
    pub(crate) nodes: Range<u32>,
}

/// One of the columns of a forest, by its place among them; of a metric, that of the whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WeightRef(usize);

impl WeightRef {
    /// BASE and OTHER, where two profiles are compared: these have one metric.
    pub const SIDES: [Self; 2] = [Self(1), Self(2)];

    /// Position among all columns.
    #[must_use]
    pub const fn index(self) -> usize {
        self.0
    }
}

impl From<MetricRef> for WeightRef {
    fn from(metric: MetricRef) -> Self {
        Self(metric.index())
    }
}

/// All nodes.
const WHOLE: Range<u32> = 0..u32::MAX;

impl Refined {
    /// The parts of the forest, in the order of their nodes: BASE and OTHER, where two profiles are
    /// compared, or else one, the whole. O(streams).
    pub(crate) fn parts(&self) -> Vec<Range<u32>> {
        let Some(comparison) = &self.profile.comparison else { return vec![WHOLE] };
        // The streams of OTHER come last.
        let is_of_other = |stream: &&Stream| stream.process >= comparison.first_other;
        let first = self.streams.iter().find(is_of_other);
        let first = first.map_or(WHOLE.end, |stream| stream.nodes.start);
        vec![WHOLE.start..first, first..WHOLE.end]
    }

    /// The columns of weights. O(streams).
    pub(crate) fn weight_columns(&self) -> Vec<WeightColumn> {
        let parts = self.parts();
        let whole = (parts.len() > 1).then_some(WHOLE);
        let of_part = |nodes: Range<u32>| {
            let column = move |(metric, _)| WeightColumn { metric, nodes: nodes.clone() };
            self.profile.metrics().map(column)
        };
        whole.into_iter().chain(parts).flat_map(of_part).collect()
    }

    /// Samples shown in each column of weights; O(nodes) where there are several parts.
    pub(crate) fn shown_by_column(&self) -> Vec<u64> {
        if let Some(known) = &self.shown_by_column {
            return known.to_vec();
        }
        let shown = |WeightColumn { metric, nodes }| {
            if nodes == WHOLE {
                return self.account_of(metric).1;
            }
            let nodes = nodes.start..nodes.end.min(node_number(self.node_count()));
            nodes.map(|node| self.of_metric(node as usize, metric).1).sum()
        };
        self.weight_columns().into_iter().map(shown).collect()
    }
}

/// Samples shown of BASE and of OTHER, where two profiles are compared; O(nodes) then, and all
/// samples are BASE's otherwise.
#[must_use]
pub fn shown_of_sides(refined: &Refined) -> [u64; 2] {
    match refined.shown_by_column()[..] {
        [_, base, other] if refined.profile.comparison.is_some() => [base, other],
        _ => [refined.shown, 0],
    }
}
