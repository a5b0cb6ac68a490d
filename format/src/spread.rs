//! How the cost of a path is spread over the ranks of a job.

use std::collections::BTreeSet;

/// How the inclusive cost of a node, of one metric, is spread over the ranks of a job. Ranks that
/// have nothing of it are in no number here.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Spread {
    /// Number of the node, in a tree of a process without a rank.
    pub node: u32,
    /// Number of the metric among [all](crate::profile::Profile::metrics).
    pub metric: u8,
    /// What the ranks have.
    pub of: RankSums,
}

impl Spread {
    /// What no two spreads have in common, and what they are ordered by.
    #[must_use]
    pub const fn place(&self) -> (u32, u8) {
        (self.node, self.metric)
    }
}

/// Samples of the ranks that have any.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct RankSums {
    /// How many ranks have any.
    pub ranks: u32,
    /// Samples of all.
    pub sum: u64,
    /// Samples of the rank with least of those that have any.
    pub least: u64,
    /// That rank; of several the first.
    pub least_rank: u32,
    /// Samples of the rank with most.
    pub most: u64,
    /// That rank; of several the first.
    pub most_rank: u32,
    /// Sum of the squares, 2^64 - 1 if it is that or more: then it is not known.
    pub squares: u64,
}

impl RankSums {
    /// Those of one rank that has samples.
    #[must_use]
    pub const fn of_rank(rank: u32, samples: u64) -> Self {
        Self {
            ranks: 1,
            sum: samples,
            least: samples,
            least_rank: rank,
            most: samples,
            most_rank: rank,
            squares: samples.saturating_mul(samples),
        }
    }

    /// Adds those of other ranks.
    pub fn add(&mut self, other: &Self) {
        if other.ranks == 0 {
            return;
        }
        if self.ranks == 0 {
            *self = *other;
            return;
        }
        let least = (self.least, self.least_rank).min((other.least, other.least_rank));
        // Of equal ones the first rank.
        let most = if (other.most, self.most_rank) > (self.most, other.most_rank) {
            (other.most, other.most_rank)
        } else {
            (self.most, self.most_rank)
        };
        *self = Self {
            ranks: self.ranks.saturating_add(other.ranks),
            sum: self.sum.saturating_add(other.sum),
            least: least.0,
            least_rank: least.1,
            most: most.0,
            most_rank: most.1,
            squares: self.squares.saturating_add(other.squares),
        };
    }

    /// Whether ranks can have these: how many of them, what each has, and their numbers.
    pub(crate) fn is_sound(&self, ranks: &BTreeSet<u32>) -> bool {
        let times = |samples: u64| u128::from(samples) * u128::from(self.ranks);
        let bounds = times(self.least)..=times(self.most);
        (1..=ranks.len()).contains(&(self.ranks as usize))
            && self.least > 0
            && bounds.contains(&self.sum.into())
            && (self.ranks > 1 || *self == Self::of_rank(self.most_rank, self.most))
            && [self.least_rank, self.most_rank].iter().all(|rank| ranks.contains(rank))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_of_ranks_are_the_same_in_any_order() {
        let ranks = [(3, 5), (1, 9), (7, 5), (2, 9), (5, u64::MAX)];
        let sum = |order: &[usize]| {
            let mut sums = RankSums::default();
            order.iter().for_each(|&at| sums.add(&RankSums::of_rank(ranks[at].0, ranks[at].1)));
            sums
        };
        let all = sum(&[0, 1, 2, 3]);
        assert_eq!((all.ranks, all.sum, all.squares), (4, 28, 25 + 81 + 25 + 81));
        assert_eq!((all.least, all.least_rank), (5, 3));
        assert_eq!((all.most, all.most_rank), (9, 1));
        assert_eq!(sum(&[3, 2, 1, 0]), all);
        let (mut left, right) = (sum(&[2, 4]), sum(&[3, 0, 1]));
        left.add(&right);
        assert_eq!(left, sum(&[4, 3, 2, 1, 0]));
        assert_eq!((left.most_rank, left.squares), (5, u64::MAX));
    }
}
