//! What the nodes cost: their samples, and what is known of their edge counts.
//!
//! All columns of one profile have one width (`profile/counts.rs`), so that a pass over all nodes
//! is written once, for [`CostsOf`] any width, and made for each with [`in_width!`].

use super::lazy::Lazy;
use super::procedures::Procedures;
use super::recorded::{Bounds, EdgeCounts, Recorded};
use crate::profile::{Column, Count, Counts, Home, MetricRef, Nodes, add_up};

/// Samples and edge counts of a forest.
#[derive(Clone, Debug)]
pub(crate) enum Costs {
    /// Of profiles with less than four billion samples and edges.
    Narrow(CostsOf<u32>),
    /// Of others.
    Wide(CostsOf<u64>),
}

/// Samples and edge counts, in a width.
#[derive(Clone, Debug)]
pub(crate) struct CostsOf<C> {
    /// Exclusive samples shown.
    pub(crate) exclusive: Column<C>,
    /// Inclusive samples shown: own plus those of all nodes below.
    pub(crate) inclusive: Column<C>,
    /// What of both each further metric has, in the order of [`Nodes::further`]; the rest is the
    /// first metric's.
    pub(crate) further: Vec<Share<C>>,
    /// Edge counts as they were recorded.
    pub(crate) recorded: Recorded<C>,
    /// What is known of edge counts now; made when first asked for, shared by all clones.
    pub(crate) bounds: Lazy<Option<Bounds<C>>>,
    /// Where the columns come from and go to.
    pub(crate) home: Home<C>,
}

/// What of the samples one further metric has.
#[derive(Clone, Debug)]
pub(crate) struct Share<C> {
    /// Of the exclusive samples shown.
    pub(crate) exclusive: Column<C>,
    /// Of the inclusive samples shown.
    pub(crate) inclusive: Column<C>,
}

/// The same, to be changed.
pub(crate) struct ShareMut<'c, C> {
    pub(crate) exclusive: &'c mut Column<C>,
    pub(crate) inclusive: &'c mut Column<C>,
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

impl Costs {
    /// The costs of a profile as it was loaded.
    pub(crate) fn loaded(nodes: &Nodes) -> Self {
        let Nodes { parent, samples, further, edges, .. } = nodes;
        let narrow = |counts: &Counts| match counts {
            Counts::Narrow(column) => Some(column.clone()),
            Counts::Wide(_) => None,
        };
        if let (Some(samples), Some(edges), Some(further)) =
            (narrow(samples), narrow(edges), further.iter().map(narrow).collect())
        {
            return Self::Narrow(CostsOf::loaded(parent, samples, further, edges));
        }
        let wide = |counts: &Counts| match counts {
            Counts::Narrow(_) => counts.iter().collect::<Vec<u64>>().into(),
            Counts::Wide(column) => column.clone(),
        };
        let further = further.iter().map(wide).collect();
        Self::Wide(CostsOf::loaded(parent, wide(samples), further, wide(edges)))
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

impl<C: Count> CostsOf<C> {
    fn loaded(
        parent: &[u32],
        samples: Column<C>,
        further: Vec<Column<C>>,
        edges: Column<C>,
    ) -> Self {
        let inclusive = |exclusive: &Column<C>| {
            let mut inclusive = exclusive.to_vec();
            add_up(parent, &mut inclusive, 1..parent.len());
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
    pub(crate) fn shares_mut(&mut self) -> (impl Iterator<Item = ShareMut<'_, C>>, &Home<C>) {
        let all = ShareMut { exclusive: &mut self.exclusive, inclusive: &mut self.inclusive };
        let further = self.further.iter_mut();
        let further =
            further.map(|Share { exclusive, inclusive }| ShareMut { exclusive, inclusive });
        (std::iter::once(all).chain(further), &self.home)
    }

    /// What samples one metric has. That of the first of several has no columns of its own: O(nodes).
    pub(crate) fn share_of(&self, metric: MetricRef) -> Share<C> {
        if let Some(further) = metric.index().checked_sub(1) {
            return self.further[further].clone();
        }
        type Which<C> = for<'s> fn(&'s Share<C>) -> &'s Column<C>;
        let rest = |all: &Column<C>, column: Which<C>| {
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
        let share = |share: &Share<C>| (share.inclusive[node].into(), share.exclusive[node].into());
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
    pub(crate) fn exact_edges(&self, procedures: &Procedures) -> Option<&Column<C>> {
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
