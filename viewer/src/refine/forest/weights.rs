//! The columns of weights of a forest: what each of its rows has samples and edges of.
//!
//! A column is of one metric on a range of nodes, the paths of which are apart from those of all
//! others: those of the whole forest come first, one for each metric; then those of each *part*,
//! where there are several; then, where a side of a comparison has several runs, those of each run,
//! which are part of a side's. One metric of the whole is looked at ([`Refined::metric`]).

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
        match &self.profile.comparison {
            Some(comparison) => self.parts_from(&[ProcessId::default(), comparison.first_other]),
            None => vec![WHOLE],
        }
    }

    /// The same where a side of a comparison has several runs: a part for each run, with its first
    /// process. O(streams × runs).
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
        starts.windows(2).map(|of| of[0]..of[1]).collect()
    }

    /// The columns of weights. O(streams × runs).
    pub(crate) fn weight_columns(&self) -> Vec<WeightColumn> {
        let parts = self.parts();
        let whole = (parts.len() > 1).then_some(WHOLE);
        let has_runs = self.profile.comparison.as_ref().is_some_and(|of| of.has_several_runs());
        let runs = if has_runs { self.runs() } else { Vec::new() };
        let of_part = |nodes: Range<u32>| {
            let column = move |(metric, _)| WeightColumn { metric, nodes: nodes.clone() };
            self.profile.metrics().map(column)
        };
        let runs = runs.into_iter().map(|(_, nodes)| nodes);
        whole.into_iter().chain(parts).chain(runs).flat_map(of_part).collect()
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
        [_, base, other, ..] if refined.profile.comparison.is_some() => [base, other],
        _ => [refined.shown, 0],
    }
}

/// The same, and then those of each run, where a side has several.
#[must_use]
pub fn shown_of_runs(refined: &Refined) -> Vec<u64> {
    match &refined.profile.comparison {
        Some(_) => refined.shown_by_column().split_off(1),
        None => vec![refined.shown, 0],
    }
}
