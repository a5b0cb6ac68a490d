//! What a test asks of a row: of all its nodes, of those of one side of a comparison, or of the
//! difference of the two.
//!
//! A row of a comparison is made of nodes of both sides, each of one; those of OTHER come last. So
//! what a side has of a row is the sum over a part of its nodes, which is made only where it is
//! asked for: a test of one profile takes the sums of the row as they are.

use std::ops::Range;

use super::row_test::{Asked, Known, RowCost, Scale};
use crate::profile::comparison::{BASE, Comparison, OTHER};
use crate::profile::{Column, Count, FrameKind, MetricRef};
use crate::refine::forest::costs::{CostsOf, SampleColumns};
use crate::refine::forest::error::{Cause, Stop, Unmatched};
use crate::refine::forest::recorded::RowEdges;
use crate::refine::forest::refined::{Account, Refined};
use crate::refine::forest::weights::shown_of_sides;
use crate::refine::lang::metric_test::{Metric, MetricTest, Quantity, Sides};

/// What a test asks of the rows of a forest.
pub(crate) fn measure<'t, C: Count>(
    refined: &Refined,
    costs: &CostsOf<C>,
    test: &'t MetricTest,
) -> Result<Measure<'t, C>, Stop> {
    // What csprof records never has more edges than samples; a made-up file may.
    let bounded = test.is_of_edges() && costs.recorded.is_bounded();
    if test.is_of_edges() {
        costs.edges(refined);
    }
    Ok(Measure::new(refined, costs, test, bounded)?)
}

/// A test, and what it measures in a forest.
pub(crate) struct Measure<'t, C> {
    test: &'t MetricTest,
    /// Samples of the metric that is asked for.
    samples: SampleColumns<C>,
    /// Exclusive samples as views show them: those of `samples`, but in a tree of callers.
    own: Column<C>,
    /// Whether they are those of all metrics.
    is_of_all: bool,
    known: Known,
    /// The nodes of which costs are asked for, those of each side by themselves if need be.
    parts: [Range<u32>; 2],
    of: Of,
}

/// What of a row's parts is measured.
enum Of {
    /// The first, which is the only one.
    One(Asked),
    /// Both, in nanoseconds: samples of the two sides stand for different times.
    Time { periods: [u64; 2], asked: Asked },
    /// The second less the first.
    Delta([Scale; 2]),
}

impl<'t, C: Count> Measure<'t, C> {
    /// `bounded` says that no row has more edges than samples. Fails if the test asks for a metric
    /// that there is not, for edges, and none were recorded, or for a side, and nothing is
    /// compared.
    fn new(
        refined: &Refined,
        costs: &CostsOf<C>,
        test: &'t MetricTest,
        bounded: bool,
    ) -> Result<Self, Unmatched> {
        let why_no_edges = refined.profile.why_no_edges().filter(|_| test.is_of_edges());
        if let Some(why) = why_no_edges {
            return Err(Unmatched { part: test.to_string(), cause: Cause::NoEdges { why } });
        }
        let metric = metric(refined, test)?;
        check_unit(refined, test, metric.unwrap_or_default())?;
        let samples = metric.map_or_else(|| costs.all.clone(), |metric| costs.samples_of(metric));
        let own = if refined.is_inverted && matches!(test.quantity, Quantity::Exclusive(_)) {
            let nodes = samples.inclusive.iter().zip(&samples.exclusive).enumerate();
            let mut own = costs.home.empty(samples.inclusive.len());
            own.extend(nodes.map(|(node, (&all, &ends))| refined.own(node, all, ends)));
            Column::made(own, &costs.home)
        } else {
            samples.exclusive.clone()
        };
        let is_of_all = samples.inclusive.is(&costs.all.inclusive);
        let one = |nodes: Range<u32>, scale: &Scale| {
            (test.known(bounded, scale), [nodes, 0..0], Of::One(test.on(scale)))
        };
        let scale = scale(refined, metric);
        let (known, parts, of) = match &refined.profile.comparison {
            None if test.of == Sides::Both => one(0..u32::MAX, &scale),
            None => return Err(Unmatched { part: test.to_string(), cause: Cause::NotCompared }),
            Some(comparison) => of_comparison(refined, comparison, test, &scale, one),
        };
        Ok(Self { test, samples, own, is_of_all, known, parts, of })
    }

    /// The test.
    pub(crate) fn test(&self) -> &'t MetricTest {
        self.test
    }

    /// Samples of each node, of the metric that is asked for.
    pub(crate) fn samples(&self) -> &SampleColumns<C> {
        &self.samples
    }

    /// Exclusive samples of each node as views show them.
    pub(crate) fn own(&self) -> &Column<C> {
        &self.own
    }

    /// Whether they are those of all metrics: then a row without any is not shown.
    pub(crate) fn is_of_all(&self) -> bool {
        self.is_of_all
    }

    /// What is known of a row with so many inclusive samples, and of all rows that have less.
    pub(crate) fn known(&self, samples: u64) -> Option<bool> {
        self.known.of(samples)
    }

    /// What is asked, if it is asked of one part.
    pub(crate) fn asked(&self) -> Option<&Asked> {
        match &self.of {
            Of::One(asked) => Some(asked),
            Of::Time { .. } | Of::Delta(_) => None,
        }
    }

    /// The nodes of which costs are asked for; the second part is empty where there is one.
    pub(crate) fn parts(&self) -> &[Range<u32>; 2] {
        &self.parts
    }

    /// Whether a row passes whose parts cost so much.
    #[inline]
    pub(crate) fn holds(&self, parts: &[RowCost; 2]) -> bool {
        match &self.of {
            Of::One(asked) => asked.holds(&parts[0]),
            Of::Time { periods, asked } => asked.holds(&weighed(parts, *periods)),
            Of::Delta(scales) => self.test.delta_holds(parts, scales),
        }
    }

    /// Whether the row that is made of these nodes passes. Edges are looked at only where the test
    /// asks for them.
    pub(crate) fn passes(
        &self,
        costs: &CostsOf<C>,
        nodes: &[u32],
        kind: FrameKind,
        [inclusive, exclusive]: [u64; 2],
    ) -> bool {
        let counts = costs.edges_found();
        let cost = |part: &Range<u32>| {
            if *part == (0..u32::MAX) && !self.test.is_of_edges() {
                return RowCost { inclusive, exclusive, edges: RowEdges::None };
            }
            let mut row = RowCost::default();
            for node in nodes.iter().filter(|node| part.contains(node)).map(|&node| node as usize) {
                let edges = match self.test.quantity {
                    Quantity::Inclusive(_) | Quantity::Exclusive(_) => RowEdges::None,
                    Quantity::Edges => counts.wide(node, kind).into(),
                    // Samples that are of no edge are no part of what edges cost.
                    _ => match counts.divisor(node, kind) {
                        RowEdges::None => continue,
                        edges => edges,
                    },
                };
                row.edges = row.edges.and(edges);
                row.inclusive += self.samples.inclusive[node].into();
                row.exclusive += self.own[node].into();
            }
            row
        };
        self.holds(&self.parts.each_ref().map(cost))
    }
}

/// The cost of a row of two sides, with samples in nanoseconds.
fn weighed([base, other]: &[RowCost; 2], periods: [u64; 2]) -> RowCost {
    let time = |base: u64, other: u64| {
        base.saturating_mul(periods[0]).saturating_add(other.saturating_mul(periods[1]))
    };
    RowCost {
        inclusive: time(base.inclusive, other.inclusive),
        exclusive: time(base.exclusive, other.exclusive),
        edges: base.edges.and(other.edges),
    }
}

/// What is known of rows, which nodes of them are asked for, and what of these.
type Asks = (Known, [Range<u32>; 2], Of);

/// What a test measures where two profiles are compared; `both` is the scale of the two together.
fn of_comparison(
    refined: &Refined,
    comparison: &Comparison,
    test: &MetricTest,
    both: &Scale,
    one: impl Fn(Range<u32>, &Scale) -> Asks,
) -> Asks {
    let shown = shown_of_sides(refined);
    let side = |side: usize| Scale {
        period: comparison.sides[side].metric.period.max(1),
        kilo: both.kilo,
        base: comparison.sides[side].total,
        view: shown[side],
        runs: comparison.runs(side),
        times: u64::try_from(comparison.expected()[side]).unwrap_or(u64::MAX),
    };
    let scales = [side(0), side(1)];
    let parts = refined.parts();
    let parts = [BASE, OTHER].map(|side| parts[side].clone());
    let is_of_time = test.quantity.metric().is_some_and(|metric| *metric != Metric::Samples);
    match test.of {
        Sides::Base => one(parts[0].clone(), &scales[0]),
        Sides::Other => one(parts[1].clone(), &scales[1]),
        Sides::Delta => (test.known_delta(&scales), parts, Of::Delta(scales)),
        Sides::Both if is_of_time && scales[0].period != scales[1].period => {
            let time = |samples: fn(&Scale) -> u64| {
                let of_side = |side: &Scale| samples(side).saturating_mul(side.period);
                of_side(&scales[0]).saturating_add(of_side(&scales[1]))
            };
            let (base, view) = (time(|s| s.base), time(|s| s.view));
            let scale = Scale { period: 1, kilo: both.kilo, base, view, runs: 1, times: 1 };
            let periods = [scales[0].period, scales[1].period];
            (Known::NOTHING, parts, Of::Time { periods, asked: test.on(&scale) })
        }
        Sides::Both => one(0..u32::MAX, both),
    }
}

/// The metric whose samples a test asks for; `None` for those of all together.
fn metric(refined: &Refined, test: &MetricTest) -> Result<Option<MetricRef>, Unmatched> {
    let Some(metric) = test.quantity.metric() else { return Ok(None) };
    let Metric::Source(name) = metric else { return Ok(Some(MetricRef::FIRST)) };
    let profile = &refined.profile;
    let mut there: Vec<&String> = match &profile.comparison {
        None => profile.metrics().map(|(_, metric)| &metric.source).collect(),
        // Each side has one, and nearly always the same.
        Some(comparison) => {
            let sides = match test.of {
                Sides::Base => &comparison.sides[..1],
                Sides::Other => &comparison.sides[1..],
                Sides::Both | Sides::Delta => &comparison.sides[..],
            };
            sides.iter().map(|side| &side.metric.source).collect()
        }
    };
    there.dedup();
    let compared = profile.comparison.is_some();
    match there.iter().position(|source| *source == name) {
        Some(place) if !compared || there.len() == 1 => Ok(u8::try_from(place).ok().map(MetricRef)),
        _ => {
            let there = there.into_iter().cloned().collect();
            Err(Unmatched { part: name.clone(), cause: Cause::NoMetric { there, compared } })
        }
    }
}

/// Refuses a value whose unit is not of what the metric counts.
fn check_unit(refined: &Refined, test: &MetricTest, metric: MetricRef) -> Result<(), Unmatched> {
    let source = refined.source_of(metric);
    if test.quantity.is_number() || test.value.unit.is_of(&source.unit) {
        return Ok(());
    }
    let example = match &*source.unit {
        "ns" => "5ms",
        "bytes" => "64k, 1MiB",
        _ => "1000, 5k",
    };
    let (source, unit) = (source.source.clone(), source.unit.clone());
    let part = test.to_string();
    Err(Unmatched { part, cause: Cause::OtherUnit { source, unit, example } })
}

/// The scale of tests of a metric, or of all together, on a forest of one profile.
fn scale(refined: &Refined, metric: Option<MetricRef>) -> Scale {
    let accounts = match metric {
        Some(metric) => &refined.accounts[metric.index()..=metric.index()],
        None => &refined.accounts[..],
    };
    let source = refined.source_of(metric.unwrap_or_default());
    Scale {
        period: source.period.max(1),
        kilo: if source.unit == "bytes" { 1024 } else { 1000 },
        base: accounts.iter().map(|account| account.base).sum(),
        view: accounts.iter().map(Account::shown).sum(),
        runs: 1,
        times: 1,
    }
}
