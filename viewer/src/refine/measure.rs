//! What a test asks of a row: of all its nodes, of those of one side of a comparison, or of the
//! difference of the two.
//!
//! A row of a comparison is made of nodes of both sides, each of one; those of OTHER come last. So
//! what a side has of a row is the sum over a part of its nodes, which is made only where it is
//! asked for: a test of one profile takes the sums of the row as they are.

use std::ops::Range;

use super::costs::CostsOf;
use super::metric_test::{Known, Metric, MetricTest, Quantity, RowCost, Scale, Sides};
use super::{Refined, first_of_other, shown_of_sides};
use crate::profile::comparison::Comparison;
use crate::profile::{Count, FrameKind};

/// A test, and what it measures in a forest.
pub(super) struct Measure<'t> {
    test: &'t MetricTest,
    known: Known,
    of: Of,
}

/// What of a row is measured.
enum Of {
    /// All its nodes.
    All(Scale),
    /// All its nodes, in nanoseconds: samples of the two sides stand for different times.
    Time { first_of_other: u32, periods: [u64; 2], scale: Scale },
    /// Its nodes among these.
    Side(Range<u32>, Scale),
    /// Its nodes from this one on, less those before it.
    Delta(u32, [Scale; 2]),
}

impl<'t> Measure<'t> {
    /// `bounded` says that no row has more edges than samples. `None` if the test asks for a side,
    /// and nothing is compared.
    pub(super) fn new(refined: &Refined<'_>, test: &'t MetricTest, bounded: bool) -> Option<Self> {
        let of = match &refined.profile.comparison {
            None if test.of == Sides::Both => Of::All(scale(refined)),
            None => return None,
            Some(comparison) => of_comparison(refined, comparison, test),
        };
        let known = match &of {
            Of::All(scale) | Of::Side(_, scale) => test.known(bounded, scale),
            Of::Time { .. } => Known::NOTHING,
            Of::Delta(_, scales) => test.known_delta(scales),
        };
        Some(Self { test, known, of })
    }

    /// What is known of a row with so many inclusive samples, and of all rows that have less.
    pub(super) fn known(&self, samples: u64) -> Option<bool> {
        self.known.of(samples)
    }

    /// Whether the row that is made of these nodes passes. Edges are looked at only where the test
    /// asks for them.
    pub(super) fn passes<C: Count>(
        &self,
        costs: &CostsOf<'_, C>,
        nodes: &[u32],
        kind: FrameKind,
        [inclusive, exclusive]: [u64; 2],
    ) -> bool {
        let all_edges =
            || if self.test.is_of_edges() { edges(costs, nodes.iter(), kind) } else { None };
        let part = |part: Range<u32>| {
            let nodes = || nodes.iter().filter(|node| part.contains(node));
            let mut row = RowCost { edges: edges(costs, nodes(), kind), ..RowCost::default() };
            for &node in nodes() {
                let (inclusive, exclusive) = costs.samples(node as usize);
                row.inclusive += inclusive;
                row.exclusive += exclusive;
            }
            row
        };
        match &self.of {
            Of::All(scale) => {
                self.test.holds(&RowCost { inclusive, exclusive, edges: all_edges() }, scale)
            }
            Of::Time { first_of_other, periods, scale } => {
                let sides = [part(0..*first_of_other), part(*first_of_other..u32::MAX)];
                let time = |samples: fn(&RowCost) -> u64| {
                    let of_side = |side: usize| samples(&sides[side]).saturating_mul(periods[side]);
                    of_side(0).saturating_add(of_side(1))
                };
                let row = RowCost {
                    inclusive: time(|side| side.inclusive),
                    exclusive: time(|side| side.exclusive),
                    edges: all_edges(),
                };
                self.test.holds(&row, scale)
            }
            Of::Side(of_side, scale) => self.test.holds(&part(of_side.clone()), scale),
            Of::Delta(first, scales) => {
                self.test.delta_holds(&[part(0..*first), part(*first..u32::MAX)], scales)
            }
        }
    }
}

/// The edge count of nodes together: least and greatest possible.
fn edges<'n, C: Count>(
    costs: &CostsOf<'_, C>,
    nodes: impl Iterator<Item = &'n u32>,
    kind: FrameKind,
) -> Option<(u64, u64)> {
    let counts = nodes.filter_map(|&node| costs.edges(node as usize, kind));
    counts.reduce(|(a, b), (c, d)| (a + c, b + d))
}

/// What a test measures where two profiles are compared.
fn of_comparison(refined: &Refined<'_>, comparison: &Comparison, test: &MetricTest) -> Of {
    let shown = shown_of_sides(refined);
    let first_of_other = first_of_other(refined);
    let side = |side: usize| Scale {
        period: comparison.sides[side].metric.period.max(1),
        base: comparison.sides[side].total,
        view: shown[side],
    };
    let scales = [side(0), side(1)];
    let is_of_time = matches!(
        test.quantity,
        Quantity::Inclusive(Metric::Time)
            | Quantity::Exclusive(Metric::Time)
            | Quantity::CostPerEdge
    );
    match test.of {
        Sides::Base => Of::Side(0..first_of_other, scales[0]),
        Sides::Other => Of::Side(first_of_other..u32::MAX, scales[1]),
        Sides::Delta => Of::Delta(first_of_other, scales),
        Sides::Both if is_of_time && scales[0].period != scales[1].period => {
            let time = |samples: fn(&Scale) -> u64| {
                let of_side = |side: &Scale| samples(side).saturating_mul(side.period);
                of_side(&scales[0]).saturating_add(of_side(&scales[1]))
            };
            let scale = Scale { period: 1, base: time(|s| s.base), view: time(|s| s.view) };
            let periods = [scales[0].period, scales[1].period];
            Of::Time { first_of_other, periods, scale }
        }
        Sides::Both => Of::All(scale(refined)),
    }
}

/// The scale of tests on a forest of one profile.
fn scale(refined: &Refined<'_>) -> Scale {
    let period = refined.profile.info.metric.period.max(1);
    Scale { period, base: refined.base, view: refined.shown }
}
