//! What a test asks of a row: of all its nodes, of those of one side of a comparison, or of the
//! difference of the two.
//!
//! A row of a comparison is made of nodes of both sides, each of one; those of OTHER come last. So
//! what a side has of a row is the sum over a part of its nodes, which is made only where it is
//! asked for: a test of one profile takes the sums of the row as they are.

use std::ops::Range;

use super::super::costs::CostsOf;
use super::super::metric_test::{
    Asked, Known, Metric, MetricTest, Quantity, RowCost, Scale, Sides,
};
use super::super::{Refined, first_of_other, shown_of_sides};
use crate::profile::comparison::Comparison;
use crate::profile::{Count, FrameKind};

/// A test, and what it measures in a forest.
pub(super) struct Measure<'t> {
    test: &'t MetricTest,
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

impl<'t> Measure<'t> {
    /// `bounded` says that no row has more edges than samples. `None` if the test asks for a side,
    /// and nothing is compared.
    pub(super) fn new(refined: &Refined<'_>, test: &'t MetricTest, bounded: bool) -> Option<Self> {
        let one = |nodes: Range<u32>, scale: &Scale| Self {
            test,
            known: test.known(bounded, scale),
            parts: [nodes, 0..0],
            of: Of::One(test.on(scale)),
        };
        match &refined.profile.comparison {
            None if test.of == Sides::Both => Some(one(0..u32::MAX, &scale(refined))),
            None => None,
            Some(comparison) => Some(of_comparison(refined, comparison, test, one)),
        }
    }

    /// What is known of a row with so many inclusive samples, and of all rows that have less.
    pub(super) fn known(&self, samples: u64) -> Option<bool> {
        self.known.of(samples)
    }

    /// The quantity that is measured.
    pub(super) fn quantity(&self) -> Quantity {
        self.test.quantity
    }

    /// What is asked, if it is asked of one part.
    pub(super) fn asked(&self) -> Option<&Asked> {
        match &self.of {
            Of::One(asked) => Some(asked),
            Of::Time { .. } | Of::Delta(_) => None,
        }
    }

    /// The nodes of which costs are asked for; the second part is empty where there is one.
    pub(super) fn parts(&self) -> &[Range<u32>; 2] {
        &self.parts
    }

    /// Whether a row passes whose parts cost so much.
    #[inline]
    pub(super) fn holds(&self, parts: &[RowCost; 2]) -> bool {
        match &self.of {
            Of::One(asked) => asked.holds(&parts[0]),
            Of::Time { periods, asked } => asked.holds(&weighed(parts, *periods)),
            Of::Delta(scales) => self.test.delta_holds(parts, scales),
        }
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
        let edges = |part: &Range<u32>| {
            let nodes = nodes.iter().filter(|node| part.contains(node));
            if self.test.is_of_edges() { edges(costs, nodes, kind) } else { None }
        };
        let cost = |part: &Range<u32>| {
            if *part == (0..u32::MAX) {
                return RowCost { inclusive, exclusive, edges: edges(part) };
            }
            let mut row = RowCost { edges: edges(part), ..RowCost::default() };
            for &node in nodes.iter().filter(|node| part.contains(node)) {
                let (inclusive, exclusive) = costs.samples(node as usize);
                row.inclusive += inclusive;
                row.exclusive += exclusive;
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
        edges: together([base.edges, other.edges].into_iter().flatten()),
    }
}

fn together(counts: impl Iterator<Item = (u64, u64)>) -> Option<(u64, u64)> {
    counts.reduce(|(a, b), (c, d)| (a + c, b + d))
}

/// The edge count of nodes together: least and greatest possible.
fn edges<'n, C: Count>(
    costs: &CostsOf<'_, C>,
    nodes: impl Iterator<Item = &'n u32>,
    kind: FrameKind,
) -> Option<(u64, u64)> {
    together(nodes.filter_map(|&node| costs.edges(node as usize, kind)))
}

/// What a test measures where two profiles are compared.
fn of_comparison<'t>(
    refined: &Refined<'_>,
    comparison: &Comparison,
    test: &'t MetricTest,
    one: impl Fn(Range<u32>, &Scale) -> Measure<'t>,
) -> Measure<'t> {
    let shown = shown_of_sides(refined);
    let first_of_other = first_of_other(refined);
    let side = |side: usize| Scale {
        period: comparison.sides[side].metric.period.max(1),
        base: comparison.sides[side].total,
        view: shown[side],
    };
    let scales = [side(0), side(1)];
    let parts = [0..first_of_other, first_of_other..u32::MAX];
    let is_of_time = matches!(
        test.quantity,
        Quantity::Inclusive(Metric::Time)
            | Quantity::Exclusive(Metric::Time)
            | Quantity::CostPerEdge
    );
    match test.of {
        Sides::Base => one(0..first_of_other, &scales[0]),
        Sides::Other => one(first_of_other..u32::MAX, &scales[1]),
        Sides::Delta => {
            Measure { test, known: test.known_delta(&scales), parts, of: Of::Delta(scales) }
        }
        Sides::Both if is_of_time && scales[0].period != scales[1].period => {
            let time = |samples: fn(&Scale) -> u64| {
                let of_side = |side: &Scale| samples(side).saturating_mul(side.period);
                of_side(&scales[0]).saturating_add(of_side(&scales[1]))
            };
            let scale = Scale { period: 1, base: time(|s| s.base), view: time(|s| s.view) };
            let periods = [scales[0].period, scales[1].period];
            let of = Of::Time { periods, asked: test.on(&scale) };
            Measure { test, known: Known::NOTHING, parts, of }
        }
        Sides::Both => one(0..u32::MAX, &scale(refined)),
    }
}

/// The scale of tests on a forest of one profile.
fn scale(refined: &Refined<'_>) -> Scale {
    let period = refined.profile.info.metric.period.max(1);
    Scale { period, base: refined.base, view: refined.shown }
}
