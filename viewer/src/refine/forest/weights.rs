//! Weight columns: a metric and a range of nodes. Each row has a weight (samples and edges) for
//! each.
//!
//! First come the columns of the whole forest, one for each metric. A comparison then has one for
//! each *part* (BASE and OTHER), and, where a side has several runs, one for each run. One metric
//! of the whole forest is looked at ([`Refined::metric`]).
//!
//! A comparison is of one metric. Others, which it has for formulas, come last in a row, and only
//! of its two sides ([`Refined::in_row`]).

use std::ops::Range;

use csprof_format::ids::ProcessId;

use super::children::node_number;
use super::refined::Refined;
use crate::profile::MetricRef;

/// A metric, and the nodes on which its samples are added up.
#[derive(Clone, Debug)]
pub(crate) struct WeightColumn {
    pub(crate) metric: MetricRef,
    pub(crate) nodes: Range<u32>,
}

/// The number of a weight column. Those of the whole forest have the numbers of their metrics.
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
        match &self.profile.comparison {
            Some(comparison) => self.parts_from(&[ProcessId::default(), comparison.first_other]),
            None => vec![WHOLE],
        }
    }

    /// The runs of a comparison in which a side has several: the first process and the nodes of
    /// each. O(streams × runs).
    pub(crate) fn runs(&self) -> Vec<(ProcessId, Range<u32>)> {
        let Some(comparison) = &self.profile.comparison else {
            return vec![(ProcessId::default(), WHOLE)];
        };
        let runs = comparison.sides.iter().flat_map(|side| &side.runs);
        let firsts: Vec<_> = runs.map(|run| run.first).collect();
        firsts.iter().copied().zip(self.parts_from(&firsts)).collect()
    }

    /// The nodes of parts, each of which begins with a process.
    fn parts_from(&self, firsts: &[ProcessId]) -> Vec<Range<u32>> {
        // The streams of later parts come later.
        let start = |&first: &ProcessId| {
            let of_part = self.streams.iter().find(|stream| stream.process >= first);
            of_part.map_or(WHOLE.end, |stream| stream.nodes.start)
        };
        let mut starts: Vec<u32> = firsts.iter().map(start).collect();
        if let Some(first) = starts.first_mut() {
            *first = WHOLE.start;
        }
        starts.push(WHOLE.end);
        starts.windows(2).map(|pair| pair[0]..pair[1]).collect()
    }

    /// The columns of weights. O(streams × runs).
    pub(crate) fn weight_columns(&self) -> Vec<WeightColumn> {
        let parts = self.parts();
        let whole = (parts.len() > 1).then_some(WHOLE);
        let has_runs = self
            .profile
            .comparison
            .as_ref()
            .is_some_and(|comparison| comparison.has_several_runs());
        let runs = if has_runs { self.runs() } else { Vec::new() };
        let of_part = |nodes: Range<u32>| {
            self.metrics().map(move |metric| WeightColumn { metric, nodes: nodes.clone() })
        };
        let runs = runs.into_iter().map(|(_, nodes)| nodes);
        whole.into_iter().chain(parts).chain(runs).flat_map(of_part).collect()
    }

    /// What all columns have, in their order, as a row has it: of a comparison all columns of the
    /// metric that is compared, and then those of the two sides of each further one.
    pub(crate) fn in_row<T: Copy>(&self, of_columns: Vec<T>) -> Vec<T> {
        let metrics = self.accounts.len();
        if self.profile.comparison.is_none() || metrics == 1 {
            return of_columns;
        }
        let compared = of_columns.iter().step_by(metrics);
        let sides = of_columns[metrics..].chunks(metrics).take(WeightRef::SIDES.len());
        let sides: Vec<&[T]> = sides.collect();
        let further = (1..metrics).flat_map(|metric| sides.iter().map(move |side| &side[metric]));
        compared.chain(further).copied().collect()
    }

    /// The column of a side of a comparison, of one of its metrics.
    pub(crate) fn side_of(&self, metric: MetricRef, side: usize) -> WeightRef {
        let runs = match &self.profile.comparison {
            Some(of) if of.has_several_runs() => of.sides.iter().map(|side| side.runs.len()).sum(),
            _ => 0,
        };
        match metric.index().checked_sub(1) {
            None => WeightRef::SIDES[side],
            Some(further) => WeightRef(1 + 2 + runs + 2 * further + side),
        }
    }

    /// Samples shown in each column of weights of a row; O(nodes) where there are several parts.
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
        self.in_row(self.weight_columns().into_iter().map(shown).collect())
    }
}

/// Samples shown of BASE and of OTHER, where two profiles are compared; O(nodes) then, and all
/// samples are BASE's otherwise.
#[must_use]
pub fn shown_of_sides(refined: &Refined) -> [u64; 2] {
    match refined.shown_by_column()[..] {
        [_, base, other, ..] if refined.profile.comparison.is_some() => [base, other],
        _ => [refined.shown, 0],
    }
}

/// The same, and then those of each run, where a side has several.
#[must_use]
pub fn shown_of_runs(refined: &Refined) -> Vec<u64> {
    match &refined.profile.comparison {
        Some(_) => {
            let mut shown = refined.shown_by_column().split_off(1);
            shown.truncate(refined.side_of(MetricRef(1), 0).index() - 1);
            shown
        }
        None => vec![refined.shown, 0],
    }
}
