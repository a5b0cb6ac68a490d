//! Tests on what a row costs: `incl(time) < 0.5%`, `edges >= 3`, `cost per edge > 2ms`.
//!
//! A test is asked of rows as a person sees them, all call sites, threads and epochs of one path
//! together; the same function in another place is another row. Comparisons are made in integers,
//! by multiplying out what would have to be divided, so that a row of exactly 0.5 % is neither
//! less nor more than `0.5%`.

use std::cmp::Ordering;
use std::fmt::{self, Display, Formatter};
use std::ops::Range;

use super::syntax::Comparison;

/// A comparison of what a row costs with a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MetricTest {
    /// Of which side it is measured, where two profiles are compared.
    pub of: Sides,
    /// What is measured.
    pub quantity: Quantity,
    /// How it compares.
    pub comparison: Comparison,
    /// With what; its unit is one that the quantity can have.
    pub value: Value,
}

/// Of which side a test measures a row, where two profiles are compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sides {
    /// Of both together; of the one there is, where nothing is compared.
    #[default]
    Both,
    /// `base`: of BASE alone.
    Base,
    /// `other`: of OTHER alone.
    Other,
    /// `delta`: what OTHER has more than BASE; below zero where it has less.
    Delta,
}

impl Sides {
    /// Those that have a name, and the name.
    pub const NAMED: [(Self, &'static str); 3] =
        [(Self::Base, "base"), (Self::Other, "other"), (Self::Delta, "delta")];
}

/// What a test measures of a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Quantity {
    /// `incl(…)`: the row's own cost and that of all below it.
    Inclusive(Metric),
    /// `excl(…)`: the row's own cost.
    Exclusive(Metric),
    /// `edges`: sampled activations that returned.
    Edges,
    /// `cost per edge`: inclusive time of the first metric divided by edges.
    CostPerEdge,
    /// `samples per edge`: inclusive samples of the first metric divided by edges.
    SamplesPerEdge,
}

impl Quantity {
    /// All quantities and their names, but for those that name a source.
    pub const ALL: [(Self, &'static str); 7] = [
        (Self::Inclusive(Metric::Samples), "incl(samples)"),
        (Self::Inclusive(Metric::Time), "incl(time)"),
        (Self::Exclusive(Metric::Samples), "excl(samples)"),
        (Self::Exclusive(Metric::Time), "excl(time)"),
        (Self::Edges, "edges"),
        (Self::CostPerEdge, "cost per edge"),
        (Self::SamplesPerEdge, "samples per edge"),
    ];

    /// The metric whose samples are measured; none for edges, which are of all together.
    #[must_use]
    pub fn metric(&self) -> Option<&Metric> {
        match self {
            Self::Inclusive(metric) | Self::Exclusive(metric) => Some(metric),
            Self::CostPerEdge => Some(&Metric::Time),
            Self::SamplesPerEdge => Some(&Metric::Samples),
            Self::Edges => None,
        }
    }

    /// Whether the difference of two sides can be tested by it.
    #[must_use]
    pub fn has_delta(&self) -> bool {
        matches!(self, Self::Inclusive(_) | Self::Exclusive(_))
    }

    /// Whether a value of this unit can be compared with it.
    #[must_use]
    pub fn allows(&self, unit: Unit) -> bool {
        match self {
            Self::Inclusive(Metric::Samples) | Self::Exclusive(Metric::Samples) => {
                matches!(unit, Unit::One | Unit::Percent(_))
            }
            Self::Inclusive(_) | Self::Exclusive(_) => unit != Unit::One,
            Self::Edges | Self::SamplesPerEdge => unit == Unit::One,
            Self::CostPerEdge => !matches!(unit, Unit::One | Unit::Percent(_)),
        }
    }
}

/// Which samples are counted, and in what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Metric {
    /// The number of those of the first metric, whichever is looked at: so a text always means the
    /// same.
    Samples,
    /// The time they stand for: their number times the sampling period.
    Time,
    /// The time that those of the source with this name stand for.
    Source(String),
}

/// A number with a unit: `digits` / 10^`decimals`, without zeros at the end of the fraction. Only a
/// difference is compared with one below zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Value {
    /// Whether it is below zero.
    pub negative: bool,
    /// All digits as one number.
    pub digits: u64,
    /// How many of them are behind the point, [`Self::MOST_DECIMALS`] at most.
    pub decimals: u32,
    /// The unit.
    pub unit: Unit,
}

/// What the number of a [`Value`] counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Samples or edges.
    One,
    /// Hundredths of a whole.
    Percent(Whole),
    /// `ns`
    Nanoseconds,
    /// `us`
    Microseconds,
    /// `ms`
    Milliseconds,
    /// `s`
    Seconds,
}

impl Unit {
    /// All units and how they are written behind a number.
    pub const ALL: [(Self, &'static str); 6] = [
        (Self::One, ""),
        (Self::Percent(Whole::Base), "%"),
        (Self::Nanoseconds, "ns"),
        (Self::Microseconds, "us"),
        (Self::Milliseconds, "ms"),
        (Self::Seconds, "s"),
    ];

    /// Nanoseconds in one, for units of time.
    fn nanoseconds(self) -> u128 {
        match self {
            Self::One | Self::Percent(_) | Self::Nanoseconds => 1,
            Self::Microseconds => 1_000,
            Self::Milliseconds => 1_000_000,
            Self::Seconds => 1_000_000_000,
        }
    }
}

/// What percentages are of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whole {
    /// All samples of the profile.
    Base,
    /// The samples that enter the stage.
    View,
}

impl Value {
    /// Digits behind the point at most.
    pub const MOST_DECIMALS: u32 = 6;

    /// Reads a number with its unit, `%` being of the base; `None` if it is none, or has more than
    /// 12 digits, or more than [`Self::MOST_DECIMALS`] of them behind the point.
    #[must_use]
    pub fn read(text: &str) -> Option<Self> {
        let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
        let (number, unit) = text.split_at(end);
        let &(unit, _) = Unit::ALL.iter().find(|(_, name)| *name == unit)?;
        let (whole, fraction) = number.split_once('.').unwrap_or((number, "0"));
        let fraction = match fraction.trim_end_matches('0') {
            _ if fraction.is_empty() || whole.is_empty() || fraction.contains('.') => return None,
            fraction => fraction,
        };
        let decimals = u32::try_from(fraction.len()).ok()?;
        if decimals > Self::MOST_DECIMALS || whole.len() + fraction.len() > 12 {
            return None;
        }
        let digits = format!("{whole}{fraction}").parse().ok()?;
        Some(Self { negative: false, digits, decimals, unit })
    }
}

impl Display for MetricTest {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if let Some((_, name)) = Sides::NAMED.iter().find(|(sides, _)| *sides == self.of) {
            write!(f, "{name} ")?;
        }
        write!(f, "{} {} {}", self.quantity, self.comparison.sign(), self.value)
    }
}

impl Display for Quantity {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Inclusive(Metric::Source(source)) => write!(f, "incl({source})"),
            Self::Exclusive(Metric::Source(source)) => write!(f, "excl({source})"),
            named => {
                let known = Self::ALL.into_iter().find(|(known, _)| known == named);
                f.write_str(known.map_or("", |(_, name)| name))
            }
        }
    }
}

impl Display for Value {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let scale = 10_u64.pow(self.decimals);
        f.write_str(if self.negative { "-" } else { "" })?;
        write!(f, "{}", self.digits / scale)?;
        if self.decimals > 0 {
            write!(f, ".{:0width$}", self.digits % scale, width = self.decimals as usize)?;
        }
        match self.unit {
            Unit::Percent(Whole::View) => f.write_str("% of view"),
            unit => {
                let known = Unit::ALL.iter().find(|(known, _)| *known == unit);
                f.write_str(known.map_or("", |&(_, name)| name))
            }
        }
    }
}

/// What a row costs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct RowCost {
    /// Samples of the row and below.
    pub(super) inclusive: u64,
    /// Samples of the row.
    pub(super) exclusive: u64,
    /// Least and greatest possible edge count; `None` for rows that have none.
    pub(super) edges: Option<(u64, u64)>,
}

/// What values are measured by.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scale {
    /// Nanoseconds that a sample stands for.
    pub(super) period: u64,
    /// Samples of the profile, of the metric that is asked for.
    pub(super) base: u64,
    /// Those of them that enter the stage.
    pub(super) view: u64,
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
pub(super) struct Known {
    /// Inclusive samples of a row of which nothing is known, and of all that have more.
    unknown_from: u64,
    passes: bool,
}

impl Known {
    /// Nothing.
    pub(super) const NOTHING: Self = Self { unknown_from: 0, passes: false };

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

    /// What the test says of a row with so many inclusive samples and of all rows that have less, if
    /// that is the same for all.
    pub(super) fn of(self, samples: u64) -> Option<bool> {
        (samples < self.unknown_from).then_some(self.passes)
    }
}

impl MetricTest {
    /// What it says of all rows that have few samples, for rows of the view. `bounded` as for
    /// [`Self::of_all_below`].
    pub(super) fn known(&self, bounded: bool, scale: &Scale) -> Known {
        Known::up_to(scale.view, |samples| self.of_all_below(samples, bounded, scale))
    }

    /// The same of the difference of two sides.
    pub(super) fn known_delta(&self, scales: &[Scale; 2]) -> Known {
        let [base, other] = scales;
        Known::up_to(base.view.saturating_add(other.view), |samples| {
            let least = self.compared_delta([samples, 0], scales);
            let greatest = self.compared_delta([0, samples], scales);
            (least == greatest).then(|| self.comparison.holds(&least, &Ordering::Equal))
        })
    }

    /// Whether the difference of two sides of a row passes.
    pub(super) fn delta_holds(&self, sides: &[RowCost; 2], scales: &[Scale; 2]) -> bool {
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
        let (weights, unit) = match self.value.unit {
            Unit::One => ([1, 1], 1),
            Unit::Percent(whole) => {
                let total = |side: &Scale| signed(side.whole(whole).max(1));
                let (base, other) = (total(base), total(other));
                let weights = [other.saturating_mul(100), base.saturating_mul(100)];
                (weights, base.saturating_mul(other))
            }
            unit => {
                let nanoseconds = i128::try_from(unit.nanoseconds()).unwrap_or(i128::MAX);
                ([signed(base.period), signed(other.period)], nanoseconds)
            }
        };
        let weighed = |side: usize| signed(samples[side]).saturating_mul(weights[side]);
        let scale = 10_i128.pow(self.value.decimals);
        let bound = signed(self.value.digits).saturating_mul(unit);
        let bound = if self.value.negative { -bound } else { bound };
        weighed(1).saturating_sub(weighed(0)).saturating_mul(scale).cmp(&bound)
    }

    /// Whether a row passes.
    pub(super) fn holds(&self, row: &RowCost, scale: &Scale) -> bool {
        self.on(scale).holds(row)
    }

    /// Whether it asks for edges.
    pub(super) fn is_of_edges(&self) -> bool {
        !matches!(self.quantity, Quantity::Inclusive(_) | Quantity::Exclusive(_))
    }

    /// What it says of all rows that have `most` inclusive samples at most, if that is the same for
    /// all. `bounded` says that no row has more edges than samples.
    fn of_all_below(&self, most: u64, bounded: bool, scale: &Scale) -> Option<bool> {
        let holds = |comparison: Comparison, number: u64| {
            let edges = Some((number, number));
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
                let greatest = RowCost { inclusive: most, exclusive: 0, edges: Some((1, 1)) };
                let is_lower_bound =
                    matches!(self.comparison, Comparison::Greater | Comparison::AtLeast);
                (is_lower_bound && !self.holds(&greatest, scale)).then_some(false)
            }
        }
    }

    /// The test with its value made comparable.
    pub(super) fn on(&self, scale: &Scale) -> Asked {
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
        // A number passes if weight times the number compares so with the value.
        let (weight, value) = match self.value.unit {
            Unit::One => (1, 1),
            Unit::Percent(whole) => (100, wide(scale.whole(whole))),
            unit => (wide(scale.period.max(1)), unit.nanoseconds()),
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
            edge: self.bound() * self.value.unit.nanoseconds(),
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
pub(super) enum Asked {
    Inclusive(Numbers),
    Exclusive(Numbers),
    Edges(Numbers),
    PerEdge(Ratio),
}

impl Asked {
    /// Whether a row passes. An edge count between two bounds passes if all counts in it do; a row
    /// that has no edges fails a test of them, and one without returns has no cost per edge.
    #[inline]
    pub(super) fn holds(&self, row: &RowCost) -> bool {
        match self {
            Self::Inclusive(numbers) => numbers.contain(row.inclusive),
            Self::Exclusive(numbers) => numbers.contain(row.exclusive),
            Self::Edges(numbers) => {
                row.edges.is_some_and(|(low, high)| numbers.contain_all(low, high))
            }
            Self::PerEdge(ratio) => {
                row.edges.is_some_and(|edges| ratio.holds(row.inclusive, edges))
            }
        }
    }
}

/// A range of numbers, or all others.
#[derive(Clone, Copy, Debug)]
pub(super) struct Numbers {
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
    pub(super) fn contain(&self, number: u64) -> bool {
        ((self.first <= number) & (number <= self.last)) == self.are_in
    }

    /// Whether every number between two is among them.
    #[inline]
    pub(super) fn contain_all(&self, low: u64, high: u64) -> bool {
        if self.are_in {
            (self.first <= low) & (high <= self.last)
        } else {
            (high < self.first) | (self.last < low) | (self.last < self.first)
        }
    }
}

/// What an edge costs, as the fraction edge / sample.
#[derive(Clone, Debug)]
pub(super) struct Ratio<W = u128> {
    comparison: Comparison,
    sample: W,
    edge: W,
}

impl Ratio {
    /// The same in 64 bits, if products with counts of at most `most` fit in.
    pub(super) fn narrow(&self, most: u64) -> Option<Ratio<u64>> {
        let fits = |weight: u128| {
            u64::try_from(weight).ok().filter(|weight| weight.checked_mul(most).is_some())
        };
        let Self { comparison, sample, edge } = *self;
        Some(Ratio { comparison, sample: fits(sample)?, edge: fits(edge)? })
    }
}

impl<W: Weight> Ratio<W> {
    /// Whether samples divided by edges compare so. The ratio is greatest where the count is least,
    /// and without bound where that is 0. Without a branch on what rows cost.
    #[inline]
    pub(super) fn holds(&self, samples: u64, (low, high): (u64, u64)) -> bool {
        let cost = self.sample.times(samples);
        let against = |edges: u64, comparison: Comparison| {
            (edges > 0) & comparison.holds(&cost, &self.edge.times(edges))
        };
        match self.comparison {
            Comparison::Less | Comparison::AtMost => against(low, self.comparison),
            Comparison::Greater | Comparison::AtLeast => against(high, self.comparison),
            Comparison::Equal => (low == high) & against(high, self.comparison),
            Comparison::NotEqual => {
                against(high, Comparison::Greater) | against(low, Comparison::Less)
            }
        }
    }
}

/// What counts are multiplied by.
pub(super) trait Weight: Copy + Ord {
    /// The weight times a count.
    fn times(self, count: u64) -> Self;
}

/// For counts with which the product fits in.
impl Weight for u64 {
    #[inline]
    fn times(self, count: u64) -> Self {
        self * count
    }
}

impl Weight for u128 {
    #[inline]
    fn times(self, count: u64) -> Self {
        self.saturating_mul(wide(count))
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
