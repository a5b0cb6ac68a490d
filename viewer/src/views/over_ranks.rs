//! How the costs of a row are spread over ranks, as [`PeerCosts`](super::peer_costs) finds.
//!
//! A row may stand for several paths, as where a function is called from two places, and a sum says
//! it of each. What one rank has on all of them together is then known only within bounds, unless
//! the same rank has most of each. Means are always exact. What a sum says is inclusive; the
//! exclusive cost of a path is that without what longer paths have, of which only the sum and
//! bounds are known, but where there is no longer path.

use csprof_format::profile::RankSums;

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
    squares: Option<u64>,
}

/// What is added up for one metric.
#[derive(Clone, Copy, Default)]
pub(super) struct Sums {
    paths: u32,
    sum: u64,
    /// The greatest of what one rank has on one path; and the sum of the greatest.
    most: [u64; 2],
    most_rank: Option<u32>,
    /// Sum of what each rank has at least.
    least: u64,
    least_rank: Option<u32>,
    /// How many ranks have some of the last path.
    with: u32,
    squares: u64,
    /// Whether of some path only bounds are known.
    has_bounds: bool,
}

impl Sums {
    pub(super) fn add(&mut self, of: &RankSums, ranks: u32) {
        if of.ranks == 0 {
            return;
        }
        let is_first = self.paths == 0;
        self.paths += 1;
        self.sum = self.sum.saturating_add(of.sum);
        self.most = [self.most[0].max(of.most), self.most[1].saturating_add(of.most)];
        self.most_rank =
            Some(of.most_rank).filter(|rank| is_first || self.most_rank == Some(*rank));
        // A rank that has none has least.
        let least = Some(of).filter(|of| of.ranks == ranks).map(|of| (of.least, of.least_rank));
        self.least = self.least.saturating_add(least.map_or(0, |(samples, _)| samples));
        self.least_rank =
            least.map(|(_, rank)| rank).filter(|rank| is_first || self.least_rank == Some(*rank));
        (self.squares, self.with) = (of.squares, of.ranks);
    }

    /// Adds what a path has that no path has that is longer by one function.
    pub(super) fn add_own(&mut self, of: &RankSums, longer: &[RankSums], ranks: u32) {
        let below = longer.iter().fold(0_u64, |sum, longer| sum.saturating_add(longer.sum));
        if below == 0 {
            return self.add(of, ranks);
        }
        let sum = of.sum.saturating_sub(below);
        if sum == 0 {
            return;
        }
        let most_below = longer.iter().fold(0_u64, |sum, longer| sum.saturating_add(longer.most));
        self.paths += 1;
        self.sum = self.sum.saturating_add(sum);
        // The rank with most has on the longer paths no more than all that is there.
        self.most[0] = self.most[0].max(of.most.saturating_sub(most_below));
        self.most[1] = self.most[1].saturating_add(of.most.min(sum));
        let least = if of.ranks == ranks { of.least.saturating_sub(most_below) } else { 0 };
        self.least = self.least.saturating_add(least);
        (self.most_rank, self.least_rank, self.has_bounds) = (None, None, true);
    }

    pub(super) fn finish(self, ranks: u32) -> OfMetric {
        let Self { paths, sum, most, most_rank, least, least_rank, with, squares, has_bounds } =
            self;
        let whole_mean = sum / u64::from(ranks.max(1));
        let is_one = paths < 2 && !has_bounds;
        let most = match most_rank {
            _ if is_one => [most[1]; 2],
            // On each of the paths it has the most.
            Some(_) if !has_bounds => [most[1]; 2],
            _ => [most[0].max(whole_mean), most[1].min(sum)],
        };
        let is_known = is_one || (least_rank.is_some() && !has_bounds);
        let least = [least, if is_known { least } else { whole_mean }];
        let squares = Some(squares).filter(|&squares| is_one && squares < u64::MAX);
        let [most_rank, least_rank] =
            [most_rank, least_rank].map(|rank| rank.filter(|_| !has_bounds));
        // Of several paths it is known where one rank has least of each, and some of each.
        let without = match paths {
            0 => Some(ranks),
            _ if is_one => Some(ranks.saturating_sub(with)),
            _ => least_rank.map(|_| 0),
        };
        OfMetric { ranks, sum, most, most_rank, least, least_rank, without, squares }
    }
}

impl OverRanks {
    /// What was added up of each metric, over so many ranks.
    pub(super) fn of_sums(sums: Vec<Sums>, ranks: u32) -> Self {
        let inclusive = sums.into_iter().map(|sums| sums.finish(ranks)).collect();
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

    /// Standard deviation over all ranks, where it is known.
    #[must_use]
    pub fn deviation(&self) -> Option<f64> {
        let mean = self.mean();
        let variance = self.squares? as f64 / f64::from(self.ranks.max(1)) - mean * mean;
        Some(variance.max(0.0).sqrt())
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
