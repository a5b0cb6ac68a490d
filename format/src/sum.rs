//! A profile that is a sum over the processes of a job.
//!
//! Its paths are one calling context tree for all processes of a program: a process without a rank
//! stands for all that were summed into it. Ranks that are kept apart are processes as in any other
//! profile, with trees of their own, so that a reader that knows nothing of sums still adds up to
//! all samples. Two tables say the rest: [`SummedRun`], of whom the sum is, and [`Spread`], how the
//! cost of each path is spread over the ranks, those that are kept apart included.
//!
//! Sums of squares stop at 2^64 - 1. So all that is here can be added in any order.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::error::{ErrorKind, Layout};
use crate::ids::ProcessId;
use crate::profile::{Process, Profile, RunInfo};

/// A run of which there is a sum.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SummedRun {
    /// What was run. Times of its processes count from its own start.
    pub info: RunInfo,
    /// Its processes, as they were before they were summed.
    pub processes: Vec<SummedProcess>,
}

/// A process that was summed into another one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SummedProcess {
    /// What it was. `start_ns` and `end_ns` count from the start of its run.
    pub process: Process,
    /// The process of the profile that has its samples: of its rank alone, if that is kept apart.
    pub into: ProcessId,
    /// Samples recorded in its threads, of each metric.
    pub recorded: Vec<u64>,
}

/// How the inclusive cost of a node, of one metric, is spread over the ranks of a job. Ranks that
/// have nothing of it are in no number here.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Spread {
    /// Number of the node, in a tree of a process without a rank.
    pub node: u32,
    /// Number of the metric among [all](Profile::metrics).
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
    fn is_sound(&self, ranks: &BTreeSet<u32>) -> bool {
        let times = |samples: u64| u128::from(samples) * u128::from(self.ranks);
        let bounds = times(self.least)..=times(self.most);
        (1..=ranks.len()).contains(&(self.ranks as usize))
            && self.least > 0
            && bounds.contains(&self.sum.into())
            && (self.ranks > 1 || *self == Self::of_rank(self.most_rank, self.most))
            && [self.least_rank, self.most_rank].iter().all(|rank| ranks.contains(rank))
    }
}

impl Profile {
    /// Whether it is a sum over processes.
    #[must_use]
    pub fn is_sum(&self) -> bool {
        !self.summed.is_empty()
    }

    /// The processes that were summed; none in other profiles.
    pub fn summed_processes(&self) -> impl Iterator<Item = &SummedProcess> {
        self.summed.iter().flat_map(|run| &run.processes)
    }

    /// The ranks that a sum is of, those that are kept apart included.
    #[must_use]
    pub fn summed_ranks(&self) -> BTreeSet<u32> {
        self.summed_processes().filter_map(|summed| summed.process.rank).collect()
    }

    /// How many processes were summed into this one; `None` for a process that is one, or a rank
    /// that is kept apart.
    #[must_use]
    pub fn summed_into(&self, process: ProcessId) -> Option<usize> {
        let is_of_sum = self.is_sum() && self.processes.get(process.index())?.rank.is_none();
        let of_it = || self.summed_processes().filter(|summed| summed.into == process);
        is_of_sum.then(|| of_it().count())
    }

    /// Whether the processes that were summed are those that have their samples: each has all that
    /// its part is of, and one with a rank only what is of that rank.
    pub(crate) fn is_sum_sound(&self) -> bool {
        let metrics = self.further.len() + 1;
        let mut recorded = vec![0_u64; self.processes.len() * metrics];
        for summed in self.summed_processes() {
            let Some(into) = self.processes.get(summed.into.index()) else { return false };
            if summed.recorded.len() != metrics
                || into.rank.is_some_and(|rank| summed.process.rank != Some(rank))
            {
                return false;
            }
            let sums = &mut recorded[summed.into.index() * metrics..][..metrics];
            for (sum, samples) in sums.iter_mut().zip(&summed.recorded) {
                *sum = sum.saturating_add(*samples);
            }
        }
        let mut of_threads = vec![0_u64; recorded.len()];
        for (number, thread) in self.threads.iter().enumerate() {
            for metric in 0..metrics {
                let share = self.share(crate::ids::ThreadId::from_index(number), metric);
                let sum = &mut of_threads[thread.process.index() * metrics + metric];
                *sum = sum.saturating_add(share.recorded);
            }
        }
        recorded == of_threads
    }

    /// The first spread that is out of order, of no node of a sum, or that no ranks can have.
    pub(crate) fn unsound_spread(&self) -> Option<usize> {
        let ranks = self.summed_ranks();
        let mut trees = self.trees.iter().peekable();
        let mut before = None;
        self.spreads.iter().position(|spread| {
            let is_before = |node: u32, first: u32, count: u32| node >= first.saturating_add(count);
            while trees
                .next_if(|tree| is_before(spread.node, tree.first_node, tree.node_count))
                .is_some()
            {}
            let process = trees.peek().map(|tree| self.threads[tree.thread.index()].process);
            let is_of_sum = process.is_some_and(|id| self.processes[id.index()].rank.is_none());
            let is_in_order = before < Some(spread.place());
            before = Some(spread.place());
            !is_of_sum
                || !is_in_order
                || usize::from(spread.metric) > self.further.len()
                || !spread.of.is_sound(&ranks)
        })
    }
}

/// See [`Spread`].
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct SpreadColumns {
    /// Nodes since the row before; the number of the node in the first row.
    after: Vec<u32>,
    metric: Vec<u32>,
    ranks: Vec<u32>,
    sum: Vec<u64>,
    least: Vec<u64>,
    least_rank: Vec<u32>,
    most: Vec<u64>,
    most_rank: Vec<u32>,
    squares: Vec<u64>,
}

impl SpreadColumns {
    pub(crate) fn new(spreads: &[Spread]) -> Self {
        let mut columns = Self::default();
        let mut before = 0;
        for Spread { node, metric, of } in spreads {
            columns.after.push(node.saturating_sub(before));
            columns.metric.push((*metric).into());
            columns.ranks.push(of.ranks);
            columns.sum.push(of.sum);
            columns.least.push(of.least);
            columns.least_rank.push(of.least_rank);
            columns.most.push(of.most);
            columns.most_rank.push(of.most_rank);
            columns.squares.push(of.squares);
            before = *node;
        }
        columns
    }

    pub(crate) fn append(self, spreads: &mut Vec<Spread>) -> Result<usize, ErrorKind> {
        let count = self.after.len();
        let odd = |column| ErrorKind::Layout(Layout::Columns { column });
        for (column, length) in [
            ("metric", self.metric.len()),
            ("ranks", self.ranks.len()),
            ("sum", self.sum.len()),
            ("least", self.least.len()),
            ("least_rank", self.least_rank.len()),
            ("most", self.most.len()),
            ("most_rank", self.most_rank.len()),
            ("squares", self.squares.len()),
        ] {
            if length != count {
                return Err(odd(column));
            }
        }
        let mut node = 0_u32;
        for (row, after) in self.after.into_iter().enumerate() {
            node = node.checked_add(after).ok_or(odd("after"))?;
            spreads.push(Spread {
                node,
                metric: u8::try_from(self.metric[row]).map_err(|_| odd("metric"))?,
                of: RankSums {
                    ranks: self.ranks[row],
                    sum: self.sum[row],
                    least: self.least[row],
                    least_rank: self.least_rank[row],
                    most: self.most[row],
                    most_rank: self.most_rank[row],
                    squares: self.squares[row],
                },
            });
        }
        Ok(count)
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
