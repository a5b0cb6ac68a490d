//! How the costs of a row are spread over ranks, as [`PeerCosts`](super::peer_costs) finds.
//!
//! What a sum says is inclusive; the exclusive cost of a path is that without what longer paths
//! have, of which only the sum and bounds are known, but where there is no longer path. Of rows
//! that are several paths, [`several_paths`](super::several_paths) says what is known.

use crate::profile::MetricRef;
use crate::profile::derived::Value;

/// How the costs of a row are spread over ranks, of each metric. In samples.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OverRanks {
    inclusive: Box<[OfMetric]>,
    /// Empty where it is not known.
    exclusive: Box<[OfMetric]>,
}

/// The same of one metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OfMetric {
    /// How many ranks there are.
    pub ranks: u32,
    /// Samples of all ranks.
    pub sum: u64,
    /// Samples of the rank with most: the least and the greatest that it may have.
    pub most: [u64; 2],
    /// That rank, where it is known.
    pub most_rank: Option<u32>,
    /// The same of the rank with least.
    pub least: [u64; 2],
    /// That rank, of several the first, where it is known.
    pub least_rank: Option<u32>,
    /// How many ranks have none at all, where it is known.
    pub without: Option<u32>,
    /// Sum of the squares of what each rank has, where it is known.
    pub(super) squares: Option<u64>,
}

impl OverRanks {
    /// What is known of each metric.
    pub(super) fn of_metrics(inclusive: Box<[OfMetric]>) -> Self {
        Self { inclusive, exclusive: Box::default() }
    }

    /// The same with exclusive costs, where these are known.
    pub(super) fn with_exclusive(self, exclusive: Option<Self>) -> Self {
        let exclusive = exclusive.map_or_else(Box::default, |of| of.inclusive);
        Self { exclusive, ..self }
    }

    /// Inclusive cost of a metric.
    #[must_use]
    pub fn of(&self, metric: MetricRef) -> Option<&OfMetric> {
        self.inclusive.get(metric.index())
    }

    /// Exclusive cost of a metric, where that is known.
    #[must_use]
    pub fn own_of(&self, metric: MetricRef) -> Option<&OfMetric> {
        self.exclusive.get(metric.index())
    }
}

impl OfMetric {
    /// Mean over all ranks.
    #[must_use]
    pub fn mean(&self) -> f64 {
        self.sum as f64 / f64::from(self.ranks.max(1))
    }

    /// Standard deviation over all ranks, where it is known. It is 0 exactly where all have the
    /// same: the squares are subtracted as integers.
    #[must_use]
    pub fn deviation(&self) -> Option<f64> {
        let ranks = self.ranks.max(1);
        let (sum, squares) = (u128::from(self.sum), u128::from(self.squares?));
        let differences = (u128::from(ranks) * squares).checked_sub(sum * sum)?;
        Some((differences as f64).sqrt() / f64::from(ranks))
    }

    /// What the other ranks could wait for the one with most: (most - mean) × ranks.
    #[must_use]
    pub fn imbalance(&self) -> [u64; 2] {
        self.most.map(|most| most.saturating_mul(self.ranks.into()).saturating_sub(self.sum))
    }
}

/// Bounds in samples, in this amount each.
pub(super) fn value(bounds: [u64; 2], each: f64) -> Value {
    let [low, high] = bounds.map(|samples| samples as f64 * each);
    Value { low, high }
}

#[cfg(test)]
mod tests;
