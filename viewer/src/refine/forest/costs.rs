//! What the nodes cost: their samples, and what is known of their edge counts.
//!
//! All columns of one profile have one width (`profile/counts.rs`), so that a pass over all nodes
//! is written once, for [`CostsOf`] any width, and made for each with [`in_width!`].

use super::column::{Column, Home};
use super::lazy::Lazy;
use super::procedures::Procedures;
use super::recorded::{Bounds, EdgeCounts, Recorded};
use crate::profile::{Count, Counts, MetricRef, Nodes, Slice, add_up};

/// Samples and edge counts of a forest.
#[derive(Clone, Debug)]
pub(crate) enum Costs<'p> {
    /// Of profiles with less than four billion samples and edges.
    Narrow(CostsOf<'p, u32>),
    /// Of others.
    Wide(CostsOf<'p, u64>),
}

/// Samples and edge counts, in a width.
#[derive(Clone, Debug)]
pub(crate) struct CostsOf<'p, C> {
    /// Exclusive samples shown.
    pub(crate) exclusive: Column<'p, C>,
    /// Inclusive samples shown: own plus those of all nodes below.
    pub(crate) inclusive: Column<'p, C>,
    /// What of both each further metric has, in the order of [`Nodes::further`]; the rest is the
    /// first metric's.
    pub(crate) further: Vec<Share<'p, C>>,
    /// Edge counts as they were recorded.
    pub(crate) recorded: Recorded<'p, C>,
    /// What is known of edge counts now; made when first asked for, shared by all clones.
    pub(crate) bounds: Lazy<Option<Bounds<C>>>,
    /// Where the columns come from and go to.
    pub(crate) home: Home<C>,
}

/// What of the samples one further metric has.
#[derive(Clone, Debug)]
pub(crate) struct Share<'p, C> {
    /// Of the exclusive samples shown.
    pub(crate) exclusive: Column<'p, C>,
    /// Of the inclusive samples shown.
    pub(crate) inclusive: Column<'p, C>,
}

/// The same, to be changed.
pub(crate) struct ShareMut<'c, 'p, C> {
    pub(crate) exclusive: &'c mut Column<'p, C>,
    pub(crate) inclusive: &'c mut Column<'p, C>,
}

/// Evaluates an expression with the costs of a forest in their own width.
macro_rules! in_width {
    ($costs:expr, $in_width:ident => $then:expr) => {
        match $costs {
            $crate::refine::forest::costs::Costs::Narrow($in_width) => $then,
            $crate::refine::forest::costs::Costs::Wide($in_width) => $then,
        }
    };
}
pub(crate) use in_width;

impl<'p> Costs<'p> {
    /// The costs of a profile as it was loaded.
    pub(crate) fn loaded(nodes: &'p Nodes) -> Self {
        let further = || nodes.further.iter().map(Counts::slice);
        if let (Some(samples), Some(edges), Some(further)) = (
            narrow(nodes.samples.slice()),
            narrow(nodes.edges.slice()),
            further().map(narrow).collect(),
        ) {
            return Self::Narrow(CostsOf::loaded(&nodes.parent, samples, further, edges));
        }
        let (samples, edges) = (wide(nodes.samples.slice()), wide(nodes.edges.slice()));
        Self::Wide(CostsOf::loaded(&nodes.parent, samples, further().map(wide).collect(), edges))
    }

    /// Those of nodes of which nothing returns, from exclusive and inclusive samples of each metric.
    pub(crate) fn without_edges(of_metrics: Vec<[Vec<u64>; 2]>) -> Self {
        let mut metrics = of_metrics.into_iter();
        let mut all = metrics.next().unwrap_or_default();
        let share = |further: [Vec<u64>; 2]| {
            for (all, more) in all.iter_mut().zip(&further) {
                all.iter_mut().zip(more).for_each(|(all, more)| *all += more);
            }
            let [exclusive, inclusive] = further;
            Share { exclusive: exclusive.into(), inclusive: inclusive.into() }
        };
        let further: Vec<_> = metrics.map(share).collect();
        let [exclusive, inclusive] = all;
        let recorded = Recorded::none(exclusive.len());
        let (exclusive, inclusive) = (exclusive.into(), inclusive.into());
        let home = Home::new(2 + 2 * further.len());
        let bounds = Lazy::default();
        Self::Wide(CostsOf { exclusive, inclusive, further, recorded, bounds, home })
    }

    /// Inclusive samples of a node.
    pub(crate) fn inclusive(&self, node: usize) -> u64 {
        in_width!(self, costs => costs.samples(node)).0
    }

    /// Inclusive and exclusive samples of a node that are of one metric.
    pub(crate) fn of_metric(&self, node: usize, metric: MetricRef) -> (u64, u64) {
        in_width!(self, costs => costs.of_metric(node, metric))
    }
}

fn narrow(counts: Slice<'_>) -> Option<Column<'_, u32>> {
    match counts {
        Slice::Narrow(counts) => Some(counts.into()),
        Slice::Wide(_) => None,
    }
}

fn wide(counts: Slice<'_>) -> Column<'_, u64> {
    match counts {
        Slice::Narrow(counts) => {
            counts.iter().map(|&count| count.into()).collect::<Vec<u64>>().into()
        }
        Slice::Wide(counts) => counts.into(),
    }
}

impl<'p, C: Count> CostsOf<'p, C> {
    fn loaded(
        parent: &[u32],
        samples: Column<'p, C>,
        further: Vec<Column<'p, C>>,
        edges: Column<'p, C>,
    ) -> Self {
        let inclusive = |exclusive: &Column<'p, C>| {
            let mut inclusive = exclusive.to_vec();
            add_up(parent, &mut inclusive);
            Column::from(inclusive)
        };
        let share = |exclusive| Share { inclusive: inclusive(&exclusive), exclusive };
        let further: Vec<_> = further.into_iter().map(share).collect();
        let inclusive = inclusive(&samples);
        let recorded = Recorded::of_kinds(edges, inclusive.clone());
        let home = Home::new(2 + 2 * further.len());
        let bounds = Lazy::default();
        Self { exclusive: samples, inclusive, further, recorded, bounds, home }
    }

    /// What samples all metrics have together, and then what of them each further one has, to be
    /// changed in the same way; and where the columns go.
    pub(crate) fn shares_mut(&mut self) -> (impl Iterator<Item = ShareMut<'_, 'p, C>>, &Home<C>) {
        let all = ShareMut { exclusive: &mut self.exclusive, inclusive: &mut self.inclusive };
        let further = self.further.iter_mut();
        let further =
            further.map(|Share { exclusive, inclusive }| ShareMut { exclusive, inclusive });
        (std::iter::once(all).chain(further), &self.home)
    }

    /// What samples one metric has. That of the first of several has no columns of its own: O(nodes).
    pub(crate) fn share_of(&self, metric: MetricRef) -> Share<'p, C> {
        if let Some(further) = metric.index().checked_sub(1) {
            return self.further[further].clone();
        }
        type Which<'p, C> = for<'s> fn(&'s Share<'p, C>) -> &'s Column<'p, C>;
        let rest = |all: &Column<'p, C>, column: Which<'p, C>| {
            let Some((first, others)) = self.further.split_first() else { return all.clone() };
            let mut rest = self.home.empty(all.len());
            rest.extend(all.iter().zip(column(first)).map(|(&all, &part)| all - part));
            for share in others {
                rest.iter_mut().zip(column(share)).for_each(|(rest, &part)| *rest = *rest - part);
            }
            Column::made(rest, &self.home)
        };
        Share {
            exclusive: rest(&self.exclusive, |share| &share.exclusive),
            inclusive: rest(&self.inclusive, |share| &share.inclusive),
        }
    }

    /// Inclusive and exclusive samples of a node.
    pub(crate) fn samples(&self, node: usize) -> (u64, u64) {
        (self.inclusive[node].into(), self.exclusive[node].into())
    }

    /// Inclusive and exclusive samples of a node that are of one metric.
    pub(crate) fn of_metric(&self, node: usize, metric: MetricRef) -> (u64, u64) {
        let share =
            |share: &Share<'_, C>| (share.inclusive[node].into(), share.exclusive[node].into());
        match metric.index().checked_sub(1) {
            Some(further) => share(&self.further[further]),
            None => self
                .further
                .iter()
                .map(share)
                .fold(self.samples(node), |rest, share| (rest.0 - share.0, rest.1 - share.1)),
        }
    }

    /// The edge counts of all nodes of this forest, where they have been found before.
    pub(crate) fn edges_found(&self) -> EdgeCounts<'_, C> {
        let found = self.bounds.get().and_then(Option::as_ref);
        EdgeCounts::new(&self.recorded, &self.inclusive, found)
    }

    /// The edge counts of all nodes whose frame is of a kind that has edges, if all are as recorded.
    pub(crate) fn exact_edges(&self, procedures: &Procedures) -> Option<&Column<'p, C>> {
        self.recorded.exact(procedures, &self.inclusive)
    }

    /// Memory of the columns, in bytes, each counted once, and what of it the profile has.
    pub(crate) fn bytes(&self) -> [usize; 2] {
        let Recorded { low, high, inclusive, .. } = &self.recorded;
        let mut columns = vec![&self.exclusive, &self.inclusive, low, high, inclusive];
        columns.extend(self.further.iter().flat_map(|share| [&share.exclusive, &share.inclusive]));
        let mut sums = [0, 0];
        for (place, column) in columns.iter().enumerate() {
            if !columns[..place].iter().any(|other| column.is(other)) {
                let [all, shared] = column.bytes();
                sums = [sums[0] + all, sums[1] + shared];
            }
        }
        let bounds = self.bounds.get().and_then(Option::as_ref);
        [sums[0] + bounds.map_or(0, Bounds::bytes), sums[1]]
    }
}
