//! A profile that is a sum over the processes of a job.
//!
//! Its paths are one calling context tree for all processes of a program: a process without a rank
//! stands for all that were summed into it. Ranks that are kept apart are processes as in any other
//! profile, with trees of their own, so that a reader that knows nothing of sums still adds up to
//! all samples. Two tables say the rest: [`summed`](Profile::summed), of whom the sum is, and
//! [`Spread`], how the cost of each path is spread over the ranks, those that are kept apart
//! included.
//!
//! Sums of squares stop at 2^64 - 1. So all that is here can be added in any order.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::error::{ErrorKind, Layout};
use crate::ids::{ProcessId, ThreadId};
use crate::profile::{Profile, SummedProcess};
use crate::spread::{RankSums, Spread};

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

    /// Those of them that are not kept apart: of each there is only the sum with others.
    #[must_use]
    pub fn merely_summed_ranks(&self) -> BTreeSet<u32> {
        let mut ranks = self.summed_ranks();
        for kept in self.processes.iter().filter_map(|process| process.rank) {
            ranks.remove(&kept);
        }
        ranks
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
                let share = self.share(ThreadId::from_index(number), metric);
                let place = thread.process.index().saturating_mul(metrics).saturating_add(metric);
                let Some(sum) = of_threads.get_mut(place) else { return false };
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
            let thread = trees.peek().and_then(|tree| self.threads.get(tree.thread.index()));
            let process = thread.and_then(|thread| self.processes.get(thread.process.index()));
            let is_of_sum = process.is_some_and(|process| process.rank.is_none());
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
