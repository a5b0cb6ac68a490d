//! Tests of rows, evaluated.
//!
//! Comparisons are made in integers, by multiplying out what would have to be divided, so that a
//! row of exactly 0.5 % is neither less nor more than `0.5%`.

use std::cmp::Ordering;
use std::ops::Range;

use crate::refine::forest::recorded::RowEdges;
use crate::refine::lang::comparison::Comparison;
use crate::refine::lang::metric_test::{MetricTest, Quantity, Unit, Whole};

/// What a row costs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct RowCost {
    /// Samples of the row and below; where it is asked what an edge costs, of the nodes with edges.
    pub(crate) inclusive: u64,
    /// Samples of the row.
    pub(crate) exclusive: u64,
    /// Its edges; mixed only where it is asked what an edge costs.
    pub(crate) edges: RowEdges,
}

/// What values are measured by.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scale {
    /// What a sample stands for, in the metric's unit: nanoseconds, bytes, …
    pub(crate) period: u64,
    /// How many of these `k` is.
    pub(crate) kilo: u64,
    /// Samples of the profile, of the metric that is asked for.
    pub(crate) base: u64,
    /// Those of them that enter the stage.
    pub(crate) view: u64,
    /// Runs that the samples are of, whose mean is compared. At least 1.
    pub(crate) runs: u64,
    /// What a side is multiplied by where runs of different sizes are compared: BASE by the first
    /// number of `Comparison::expected`, OTHER by the second.
    pub(crate) times: u64,
}

impl Scale {
    /// What percentages are of.
    fn whole(&self, whole: Whole) -> u64 {
        match whole {
            Whole::Base => self.base,
            Whole::View => self.view,
        }
    }
}

/// What a test says of rows that have few samples.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Known {
    /// Inclusive samples of a row of which nothing is known, and of all that have more.
    unknown_from: u64,
    passes: bool,
}

impl Known {
    /// Nothing.
    pub(crate) const NOTHING: Self = Self { unknown_from: 0, passes: false };

    /// What `passes` says of all rows that have a number of samples or less. What is known of more
    /// samples is known of less, so halving finds where it ends.
    fn up_to(most: u64, passes: impl Fn(u64) -> Option<bool>) -> Self {
        let (mut unknown_from, mut end) = (0, most.saturating_add(1));
        while unknown_from < end {
            let middle = unknown_from + (end - unknown_from) / 2;
            if passes(middle).is_some() {
                unknown_from = middle + 1;
            } else {
                end = middle;
            }
        }
        Self { unknown_from, passes: passes(0) == Some(true) }
    }

    /// What the test says of a row with so many inclusive samples and of all rows that have less,
    /// if that is the same for all.
    pub(crate) fn of(self, samples: u64) -> Option<bool> {
        (samples < self.unknown_from).then_some(self.passes)
    }
}

impl MetricTest {
    /// What it says of all rows that have few samples, for rows of the view. `bounded` as for
    /// [`Self::of_all_below`].
    pub(crate) fn known(&self, bounded: bool, scale: &Scale) -> Known {
        Known::up_to(scale.view, |samples| self.of_all_below(samples, bounded, scale))
    }

    /// The same of the difference of two sides.
    pub(crate) fn known_delta(&self, scales: &[Scale; 2]) -> Known {
        let [base, other] = scales;
        Known::up_to(base.view.saturating_add(other.view), |samples| {
            let least = self.compared_delta([samples, 0], scales);
            let greatest = self.compared_delta([0, samples], scales);
            (least == greatest).then(|| self.comparison.holds(&least, &Ordering::Equal))
        })
    }

    /// Whether the difference of two sides of a row passes.
    pub(crate) fn delta_holds(&self, sides: &[RowCost; 2], scales: &[Scale; 2]) -> bool {
        let samples = sides.map(|side| match self.quantity {
            Quantity::Exclusive(_) => side.exclusive,
            _ => side.inclusive,
        });
        self.comparison.holds(&self.compared_delta(samples, scales), &Ordering::Equal)
    }

    /// How OTHER's less BASE's compares with the value: samples, the time they stand for, or what
    /// share they are of what was measured on their side.
    fn compared_delta(&self, samples: [u64; 2], scales: &[Scale; 2]) -> Ordering {
        let [base, other] = scales;
        // Means are compared as a·m and b·n, as by `Comparison::weights`.
        let of_means = [
            signed(other.runs).saturating_mul(signed(base.times)),
            signed(base.runs).saturating_mul(signed(other.times)),
        ];
        let unit_of_means = signed(other.runs).saturating_mul(of_means[1]);
        let size = |kilo| i128::try_from(self.value.unit.size(kilo)).unwrap_or(i128::MAX);
        let (weights, unit) = match self.value.unit {
            Unit::Percent(whole) => {
                let total = |side: &Scale| signed(side.whole(whole).max(1));
                let (base, other) = (total(base), total(other));
                let weights = [other.saturating_mul(100), base.saturating_mul(100)];
                (weights, base.saturating_mul(other))
            }
            _ if self.quantity.is_number() => (of_means, size(1000).saturating_mul(unit_of_means)),
            _ => {
                let periods = [signed(base.period), signed(other.period)];
                let weights = [0, 1].map(|side| periods[side].saturating_mul(of_means[side]));
                (weights, size(base.kilo).saturating_mul(unit_of_means))
            }
        };
        let weighed = |side: usize| signed(samples[side]).saturating_mul(weights[side]);
        let scale = 10_i128.pow(self.value.decimals);
        let bound = signed(self.value.digits).saturating_mul(unit);
        let bound = if self.value.negative { -bound } else { bound };
        weighed(1).saturating_sub(weighed(0)).saturating_mul(scale).cmp(&bound)
    }

    /// Whether a row passes.
    pub(crate) fn holds(&self, row: &RowCost, scale: &Scale) -> bool {
        self.on(scale).holds(row)
    }

    /// Whether it asks for edges.
    pub(crate) fn is_of_edges(&self) -> bool {
        !matches!(self.quantity, Quantity::Inclusive(_) | Quantity::Exclusive(_))
    }

    /// What it says of all rows that have `most` inclusive samples at most, if that is the same for
    /// all. `bounded` says that no row has more edges than samples.
    fn of_all_below(&self, most: u64, bounded: bool, scale: &Scale) -> Option<bool> {
        let holds = |comparison: Comparison, number: u64| {
            let edges = RowEdges::Range(number, number);
            let row = RowCost { inclusive: number, exclusive: number, edges };
            Self { comparison, ..self.clone() }.holds(&row, scale)
        };
        let of_numbers = || match self.comparison {
            Comparison::Equal => holds(Comparison::Less, most).then_some(false),
            Comparison::NotEqual => holds(Comparison::Less, most).then_some(true),
            comparison => {
                let first = holds(comparison, 0);
                (first == holds(comparison, most)).then_some(first)
            }
        };
        match self.quantity {
            Quantity::Inclusive(_) | Quantity::Exclusive(_) => of_numbers(),
            // Rows that have no edges fail.
            Quantity::Edges if bounded => of_numbers().filter(|passes| !passes),
            Quantity::Edges => None,
            // No ratio is greater than that of all samples to one edge.
            Quantity::CostPerEdge | Quantity::SamplesPerEdge => {
                let greatest =
                    RowCost { inclusive: most, exclusive: 0, edges: RowEdges::Range(1, 1) };
                let is_lower_bound =
                    matches!(self.comparison, Comparison::Greater | Comparison::AtLeast);
                (is_lower_bound && !self.holds(&greatest, scale)).then_some(false)
            }
        }
    }

    /// The test with its value made comparable.
    pub(crate) fn on(&self, scale: &Scale) -> Asked {
        match self.quantity {
            Quantity::Inclusive(_) => Asked::Inclusive(self.numbers(scale)),
            Quantity::Exclusive(_) => Asked::Exclusive(self.numbers(scale)),
            Quantity::Edges => Asked::Edges(self.numbers(scale)),
            Quantity::CostPerEdge => Asked::PerEdge(self.ratio(scale.period)),
            Quantity::SamplesPerEdge => Asked::PerEdge(self.ratio(1)),
        }
    }

    /// The numbers of samples or edges that pass.
    fn numbers(&self, scale: &Scale) -> Numbers {
        // Costs of several runs are asked for by their mean, edges and shares by all together.
        let is_cost = matches!(self.quantity, Quantity::Inclusive(_) | Quantity::Exclusive(_));
        let runs = if is_cost { wide(scale.runs.max(1)) } else { 1 };
        // A number passes if weight times the number compares so with the value.
        let (weight, value) = match self.value.unit {
            Unit::Percent(whole) => (100, wide(scale.whole(whole))),
            unit if self.quantity.is_number() => (1, unit.size(1000).saturating_mul(runs)),
            unit => (wide(scale.period.max(1)), unit.size(scale.kilo).saturating_mul(runs)),
        };
        let (weight, value) = (weight * self.scale(), self.bound() * value);
        // The least number that is not less than the value, and the least that is greater.
        let (equal, greater) = (value.div_ceil(weight), value / weight + 1);
        let (numbers, are_in) = match self.comparison {
            Comparison::Less => (0..equal, true),
            Comparison::AtMost => (0..greater, true),
            Comparison::Greater => (0..greater, false),
            Comparison::AtLeast => (0..equal, false),
            Comparison::Equal => (equal..greater, true),
            Comparison::NotEqual => (equal..greater, false),
        };
        Numbers::new(numbers, are_in)
    }

    fn ratio(&self, period: u64) -> Ratio {
        Ratio {
            comparison: self.comparison,
            sample: wide(period).saturating_mul(self.scale()),
            edge: self.bound() * self.value.unit.size(1000),
        }
    }

    fn bound(&self) -> u128 {
        wide(self.value.digits)
    }

    fn scale(&self) -> u128 {
        10_u128.pow(self.value.decimals)
    }
}

/// What a test asks of rows, in samples and edges.
#[derive(Clone, Debug)]
pub(crate) enum Asked {
    Inclusive(Numbers),
    Exclusive(Numbers),
    Edges(Numbers),
    PerEdge(Ratio),
}

impl Asked {
    /// Whether a row passes. An edge count between two bounds passes if all counts in it do; a row
    /// that has no edges fails a test of them, and one without returns has no cost per edge.
    #[inline]
    pub(crate) fn holds(&self, row: &RowCost) -> bool {
        match self {
            Self::Inclusive(numbers) => numbers.contain(row.inclusive),
            Self::Exclusive(numbers) => numbers.contain(row.exclusive),
            Self::Edges(numbers) => {
                row.edges.range().is_some_and(|(low, high)| numbers.contain_all(low, high))
            }
            Self::PerEdge(ratio) => {
                row.edges.range().is_some_and(|edges| ratio.holds(row.inclusive, edges))
            }
        }
    }
}

/// A range of numbers, or all others.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Numbers {
    first: u64,
    /// Less than the first if the range is empty.
    last: u64,
    are_in: bool,
}

impl Numbers {
    fn new(range: Range<u128>, are_in: bool) -> Self {
        let last = range.end.saturating_sub(1).min(u64::MAX.into());
        let (first, last) = match u64::try_from(range.start) {
            Ok(first) if !range.is_empty() => (first, last as u64),
            _ => (1, 0),
        };
        Self { first, last, are_in }
    }

    /// Whether a number is among them. Without a branch, as nobody can guess what rows cost.
    #[inline]
    pub(crate) fn contain(&self, number: u64) -> bool {
        ((self.first <= number) & (number <= self.last)) == self.are_in
    }

    /// Whether every number between two is among them.
    #[inline]
    pub(crate) fn contain_all(&self, low: u64, high: u64) -> bool {
        if self.are_in {
            (self.first <= low) & (high <= self.last)
        } else {
            (high < self.first) | (self.last < low) | (self.last < self.first)
        }
    }
}

/// What an edge costs, as the fraction edge / sample.
#[derive(Clone, Debug)]
pub(crate) struct Ratio<W = u128> {
    comparison: Comparison,
    sample: W,
    edge: W,
}

impl Ratio {
    /// The same in 64 bits, if products with counts of at most `most` fit in.
    pub(crate) fn narrow(&self, most: u64) -> Option<Ratio<u64>> {
        let fits = |weight: u128| {
            u64::try_from(weight).ok().filter(|weight| weight.checked_mul(most).is_some())
        };
        let Self { comparison, sample, edge } = *self;
        Some(Ratio { comparison, sample: fits(sample)?, edge: fits(edge)? })
    }
}

impl<W: Factor> Ratio<W> {
    /// Whether samples divided by edges compare so, for all counts between the bounds; where there
    /// may be no edge, there is no ratio. Without a branch on what rows cost, but for `!=`.
    #[inline]
    pub(crate) fn holds(&self, samples: u64, (low, high): (u64, u64)) -> bool {
        let cost = self.sample.times(samples);
        let against =
            |edges: u64, comparison: Comparison| comparison.holds(&cost, &self.edge.times(edges));
        let holds = match self.comparison {
            Comparison::Less | Comparison::AtMost => against(low, self.comparison),
            Comparison::Greater | Comparison::AtLeast => against(high, self.comparison),
            Comparison::Equal => against(low, self.comparison) & against(high, self.comparison),
            Comparison::NotEqual => {
                against(high, Comparison::Greater)
                    || against(low, Comparison::Less)
                    || !cost.is_multiple_of(self.edge)
            }
        };
        (low > 0) & holds
    }
}

/// What counts are multiplied by.
pub(crate) trait Factor: Copy + Ord {
    /// The weight times a count.
    fn times(self, count: u64) -> Self;

    /// Whether some count times the weight is this.
    fn is_multiple_of(self, weight: Self) -> bool;
}

/// For counts with which the product fits in.
impl Factor for u64 {
    #[inline]
    fn times(self, count: u64) -> Self {
        self * count
    }

    fn is_multiple_of(self, weight: Self) -> bool {
        self.is_multiple_of(weight)
    }
}

impl Factor for u128 {
    #[inline]
    fn times(self, count: u64) -> Self {
        self.saturating_mul(wide(count))
    }

    fn is_multiple_of(self, weight: Self) -> bool {
        self.is_multiple_of(weight)
    }
}

fn wide(number: u64) -> u128 {
    u128::from(number)
}

fn signed(number: u64) -> i128 {
    i128::from(number)
}

#[cfg(test)]
mod tests;
