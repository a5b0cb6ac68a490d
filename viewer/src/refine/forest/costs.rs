//! What the nodes cost: their samples, and what is known of their edge counts.
//!
//! All columns of one profile have one width (`profile/counts.rs`), so that a pass over all nodes
//! is written once, for [`CostsOf`] any width, and made for each with [`in_width!`].

use std::iter::once;
use std::ops::Range;

use super::lazy::Lazy;
use super::procedures::Procedures;
use super::recorded::{Bounds, EdgeCounts, Recorded};
use crate::profile::{Column, Count, Counts, Home, MetricRef, Nodes, inclusive};

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
    /// Samples shown, of all metrics together.
    pub(crate) all: SampleColumns<C>,
    /// What of them each further metric has, in the order of [`Nodes::further`]. The rest is the
    /// first one's, so that a profile of one metric has no columns more, and no passes.
    pub(crate) further: Vec<SampleColumns<C>>,
    /// Edge counts as they were recorded.
    pub(crate) recorded: Recorded<C>,
    /// What is known of edge counts now; made when first asked for, shared by all clones.
    pub(crate) bounds: Lazy<Option<Bounds<C>>>,
    /// Where the columns come from and go to.
    pub(crate) home: Home<C>,
}

/// Samples of nodes.
#[derive(Clone, Debug, Default)]
pub(crate) struct SampleColumns<C> {
    /// Exclusive ones.
    pub(crate) exclusive: Column<C>,
    /// Inclusive ones: own plus those of all nodes below.
    pub(crate) inclusive: Column<C>,
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
    /// The costs of a profile as it was loaded, whose nodes are divided into `parts`.
    pub(crate) fn loaded(nodes: &Nodes, parts: &[Range<usize>]) -> Self {
        let columns = || [&nodes.edges, &nodes.samples].into_iter().chain(&nodes.further);
        let narrow = |counts: &Counts| match counts {
            Counts::Narrow(column) => Some(column.clone()),
            Counts::Wide(_) => None,
        };
        let wide = |counts: &Counts| match counts {
            Counts::Narrow(_) => counts.iter().collect::<Vec<u64>>().into(),
            Counts::Wide(column) => column.clone(),
        };
        match columns().map(narrow).collect::<Option<Vec<_>>>() {
            Some(columns) => Self::Narrow(CostsOf::loaded(&nodes.parent, columns, parts)),
            None => {
                let columns = columns().map(wide).collect();
                Self::Wide(CostsOf::loaded(&nodes.parent, columns, parts))
            }
        }
    }

    /// Those of nodes of which nothing returns, from exclusive and inclusive samples of each
    /// metric.
    pub(crate) fn without_edges(of_metrics: Vec<[Vec<u64>; 2]>) -> Self {
        let mut metrics = of_metrics.into_iter();
        let mut all = metrics.next().unwrap_or_default();
        for further in metrics.as_slice() {
            for (all, more) in all.iter_mut().zip(further) {
                all.iter_mut().zip(more).for_each(|(all, more)| *all += more);
            }
        }
        let recorded = Recorded::none(all[0].len());
        let columns = |[exclusive, inclusive]: [Vec<u64>; 2]| SampleColumns {
            exclusive: exclusive.into(),
            inclusive: inclusive.into(),
        };
        Self::Wide(CostsOf::new(columns(all), metrics.map(columns).collect(), recorded))
    }

    /// Inclusive samples of a node.
    pub(crate) fn inclusive(&self, node: usize) -> u64 {
        in_width!(self, costs => costs.all.at(node)).0
    }

    /// Inclusive and exclusive samples of a node that are of one metric.
    pub(crate) fn of_metric(&self, node: usize, metric: MetricRef) -> (u64, u64) {
        in_width!(self, costs => costs.of_metric(node, metric))
    }
}

impl<C: Count> SampleColumns<C> {
    /// Inclusive and exclusive samples of a node.
    pub(crate) fn at(&self, node: usize) -> (u64, u64) {
        (self.inclusive[node].into(), self.exclusive[node].into())
    }
}

impl<C: Count> CostsOf<C> {
    /// Of edges, samples of all metrics, and those of each further one.
    fn loaded(parent: &[u32], columns: Vec<Column<C>>, parts: &[Range<usize>]) -> Self {
        let mut columns = columns.into_iter();
        let edges = columns.next().unwrap_or_default();
        let mut samples = columns.map(|exclusive| {
            let inclusive = inclusive(parent, &exclusive[..], parts).into();
            SampleColumns { exclusive, inclusive }
        });
        let all = samples.next().unwrap_or_default();
        let recorded = Recorded::of_kinds(edges, all.inclusive.clone());
        Self::new(all, samples.collect(), recorded)
    }

    fn new(all: SampleColumns<C>, further: Vec<SampleColumns<C>>, recorded: Recorded<C>) -> Self {
        let home = Home::new(2 + 2 * further.len());
        Self { all, further, recorded, bounds: Lazy::default(), home }
    }

    /// What samples all metrics have together, and then what of them each further one has.
    pub(crate) fn samples(&self) -> impl Iterator<Item = &SampleColumns<C>> {
        once(&self.all).chain(&self.further)
    }

    /// The same, to be changed in the same way; and where the columns go.
    pub(crate) fn samples_mut(
        &mut self,
    ) -> (impl Iterator<Item = &mut SampleColumns<C>>, &Home<C>) {
        (once(&mut self.all).chain(&mut self.further), &self.home)
    }

    /// What samples one metric has. Those of the first of several have no columns: O(nodes).
    pub(crate) fn samples_of(&self, metric: MetricRef) -> SampleColumns<C> {
        type Which<C> = for<'s> fn(&'s SampleColumns<C>) -> &'s Column<C>;
        let rest = |column: Which<C>| {
            let mut rest = self.home.copy_of(column(&self.all));
            for further in &self.further {
                rest.iter_mut().zip(column(further)).for_each(|(rest, &part)| *rest = *rest - part);
            }
            Column::made(rest, &self.home)
        };
        match metric.index().checked_sub(1) {
            Some(further) => self.further[further].clone(),
            None if self.further.is_empty() => self.all.clone(),
            None => SampleColumns {
                exclusive: rest(|samples| &samples.exclusive),
                inclusive: rest(|samples| &samples.inclusive),
            },
        }
    }

    /// Inclusive and exclusive samples of a node that are of one metric.
    pub(crate) fn of_metric(&self, node: usize, metric: MetricRef) -> (u64, u64) {
        let minus = |rest: (u64, u64), part: (u64, u64)| (rest.0 - part.0, rest.1 - part.1);
        match metric.index().checked_sub(1) {
            Some(further) => self.further[further].at(node),
            None => {
                self.further.iter().map(|samples| samples.at(node)).fold(self.all.at(node), minus)
            }
        }
    }

    /// The edge counts of all nodes of this forest, where they have been found before.
    pub(crate) fn edges_found(&self) -> EdgeCounts<'_, C> {
        let found = self.bounds.get().and_then(Option::as_ref);
        EdgeCounts::new(&self.recorded, &self.all.inclusive, found)
    }

    /// The edge counts of all nodes whose frame is of a kind that has edges, if all are as
    /// recorded.
    pub(crate) fn exact_edges(&self, procedures: &Procedures) -> Option<&Column<C>> {
        self.recorded.exact(procedures, &self.all.inclusive)
    }

    /// Memory of the columns, in bytes, each counted once, and what of it the profile has.
    pub(crate) fn bytes(&self) -> [usize; 2] {
        let Recorded { low, high, inclusive, .. } = &self.recorded;
        let mut columns = vec![low, high, inclusive];
        columns.extend(self.samples().flat_map(|samples| [&samples.exclusive, &samples.inclusive]));
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
