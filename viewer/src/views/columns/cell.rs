//! What a row has in a column: one value, of which text, a value for machines and an order are
//! made.

use core::cmp::{Ordering, Reverse};

use csprof_format::profile::Metric;

use crate::profile::comparison::{BASE, OTHER};
use crate::profile::derived::{Shown, Value};
use crate::views::difference::{self, Difference};
use crate::views::measure::Measure;
use crate::views::number::{Form, count, edges, hex, percent, value};
use crate::views::row::{Edges, StripOfMetric, Weight};
use crate::views::strip;
use crate::views::verdict::per_edge;

/// What a row has in a column.
#[derive(Clone, Copy, Debug)]
pub enum Cell<'r> {
    /// Nothing is known, or nothing can be said.
    Nothing,
    /// A name or a word.
    Text(&'r str),
    /// Bytes, in hexadecimal digits.
    Bytes(&'r [u8]),
    /// A number of samples, or of a line.
    Count(u64),
    /// Yes or no.
    Truth(bool),
    /// Samples of a metric, in this measure.
    Cost {
        /// The samples.
        samples: u64,
        /// What they stand for.
        metric: &'r Metric,
        /// What the number counts.
        measure: Measure,
    },
    /// A share, in samples.
    Share {
        /// Of the row.
        part: u64,
        /// Of everything.
        whole: u64,
    },
    /// An edge count.
    Edges(Edges),
    /// The edge counts of BASE and OTHER, where they compare.
    EdgesOfBoth {
        /// Those of each side.
        sides: Option<[Edges; 2]>,
        /// Their sum.
        sum: Edges,
    },
    /// Cost per edge.
    PerEdge {
        /// What has the samples and the edges.
        weight: &'r Weight,
        /// What the samples stand for.
        metric: &'r Metric,
    },
    /// What one side has.
    Side(Difference<'r>, usize),
    /// OTHER minus BASE.
    Delta(Difference<'r>),
    /// OTHER minus BASE for each second between the two.
    Rate(Difference<'r>),
    /// OTHER minus BASE as a share of BASE.
    Growth(Difference<'r>),
    /// Half the width of the interval of the difference.
    Noise(Difference<'r>),
    /// What is expected of OTHER.
    Expected(Difference<'r>),
    /// OTHER minus that as a share of all that OTHER has.
    LossShare(Difference<'r>),
    /// An end of the interval of the difference: 0 the least, 1 the greatest.
    End(Difference<'r>, usize),
    /// What a formula makes of costs and edges.
    Derived {
        /// The value, or its bounds.
        value: Value,
        /// How it is shown.
        shown: Shown,
    },
    /// What a formula makes of OTHER minus what it makes of BASE.
    DerivedDelta {
        /// The value, or its bounds.
        value: Value,
        /// How it is shown.
        shown: Shown,
    },
    /// How samples of a metric are spread over peers, in this measure.
    Strip {
        /// The samples of each cell.
        of: &'r StripOfMetric,
        /// What they stand for.
        metric: &'r Metric,
        /// What the numbers count.
        measure: Measure,
    },
}

/// A cell as machines read it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Plain<'r> {
    /// Nothing is known.
    Nothing,
    /// Text.
    Text(&'r str),
    /// Text in hexadecimal digits.
    Bytes(&'r [u8]),
    /// Yes or no.
    Truth(bool),
    /// A number from 0 on.
    Natural(u128),
    /// A number with a sign.
    Integer(i128),
    /// A ratio.
    Real(f64),
    /// An edge count: its least and its greatest possible value.
    Bounds(u64, u64),
    /// A ratio: its least and its greatest possible value.
    Between(f64, f64),
    /// Numbers from 0 on, each so many times this one.
    Naturals(&'r [u64], u128),
}

impl Plain<'_> {
    /// A number that a difference has as an integer, in its decimals.
    pub fn of_difference(difference: &Difference<'_>, number: impl TryInto<i128>) -> Self {
        let number = number.try_into().unwrap_or(i128::MAX);
        match difference.decimals() {
            0 => Self::Integer(number),
            decimals => Self::Real(number as f64 / 10_f64.powi(decimals as i32)),
        }
    }
}

impl<'r> Cell<'r> {
    /// A name or a word, if there is one.
    pub(super) fn of_text(text: Option<&'r str>) -> Self {
        text.map_or(Self::Nothing, Self::Text)
    }

    /// The text of the cell.
    #[must_use]
    pub fn text(&self, form: Form) -> String {
        match *self {
            Self::Nothing => String::new(),
            Self::Text(text) => text.to_owned(),
            Self::Bytes(bytes) => hex(bytes),
            Self::Count(n) => count(n, form),
            Self::Truth(truth) => truth.to_string(),
            Self::Cost { samples, metric, measure } => measure.text(samples, metric, form),
            Self::Share { part, whole } => percent(part, whole),
            Self::Edges(count) => edges(count, form),
            Self::EdgesOfBoth { sides, .. } => {
                sides.map_or_else(String::new, |sides| difference::edges(sides, form))
            }
            Self::PerEdge { weight, metric } => per_edge(weight, metric, form),
            Self::Side(difference, side) => difference.amount(side, form),
            Self::Delta(difference) => difference.delta(form),
            Self::Rate(difference) => difference.rate_text(form),
            Self::Growth(difference) => difference.growth_text(form),
            Self::Noise(difference) => difference.noise(form),
            Self::Expected(difference) => difference.expected(form),
            Self::LossShare(difference) => difference.share_of_other_text(),
            Self::End(difference, end) => difference.ends(form)[end].clone(),
            Self::Derived { value: of, shown } => value(of, shown, form),
            Self::DerivedDelta { value: of, shown } => {
                let sign = if of.low > 0.0 { "+" } else { "" };
                // Of percentages, percentage points: of base they would be another number.
                format!("{sign}{}", value(of, shown, form)).replace('%', " pp")
            }
            Self::Strip { of, .. } => strip::text(&of.parts, form),
        }
    }

    /// The cell for machines.
    #[must_use]
    pub fn plain(&self) -> Plain<'r> {
        let ratio = |part: u128, whole: u128| match whole {
            0 => Plain::Nothing,
            _ => Plain::Real(part as f64 / whole as f64),
        };
        match *self {
            Self::Nothing | Self::Edges(Edges::None) => Plain::Nothing,
            Self::Text(text) => Plain::Text(text),
            Self::Bytes(bytes) => Plain::Bytes(bytes),
            Self::Count(n) => Plain::Natural(n.into()),
            Self::Truth(truth) => Plain::Truth(truth),
            Self::Cost { samples, metric, measure } => Plain::Natural(measure.of(samples, metric)),
            Self::Share { part, whole } => ratio(u128::from(part) * 100, whole.into()),
            Self::Edges(Edges::Range { low, high }) => Plain::Bounds(low, high),
            Self::EdgesOfBoth { sides, .. } => {
                sides.map_or(Plain::Nothing, |sides| Self::Edges(sides[OTHER]).plain())
            }
            Self::PerEdge { weight, metric, .. } => match weight.outer_edges {
                Edges::Range { low, high } if low == high => {
                    ratio(Measure::Source.of(weight.edge_samples, metric), high.into())
                }
                _ => Plain::Nothing,
            },
            Self::Side(difference, side) => {
                Plain::of_difference(&difference, difference.plain_amount(side))
            }
            Self::Delta(difference) => Plain::of_difference(&difference, difference.plain_delta()),
            Self::Rate(difference) => difference.rate().map_or(Plain::Nothing, Plain::Real),
            Self::Growth(difference) => difference.growth().map_or(Plain::Nothing, Plain::Real),
            Self::Noise(difference) => Plain::of_difference(&difference, difference.plain_noise()),
            Self::Expected(difference) => {
                Plain::of_difference(&difference, difference.plain_expected())
            }
            Self::LossShare(difference) => {
                difference.share_of_other().map_or(Plain::Nothing, Plain::Real)
            }
            Self::End(difference, end) => {
                Plain::of_difference(&difference, difference.plain_interval()[end])
            }
            Self::Derived { value, .. } | Self::DerivedDelta { value, .. } if value.is_exact() => {
                Plain::Real(value.low)
            }
            Self::Derived { value: Value { low, high }, .. }
            | Self::DerivedDelta { value: Value { low, high }, .. } => Plain::Between(low, high),
            Self::Strip { of, metric, measure } => {
                Plain::Naturals(&of.parts, measure.of(1, metric))
            }
        }
    }

    /// What rows are ordered by, the greatest first.
    #[must_use]
    pub fn rank(&self) -> Rank<'r> {
        let of_edges = |edges| match edges {
            Edges::None => Rank::Absent,
            Edges::Range { high, .. } => Rank::Number(high),
        };
        match *self {
            Self::Nothing | Self::Bytes(_) | Self::Strip { .. } => Rank::Absent,
            Self::Text(name) => Rank::Name(Reverse(name)),
            Self::Truth(truth) => Rank::Number(truth.into()),
            Self::Count(samples)
            | Self::Cost { samples, .. }
            | Self::Share { part: samples, .. } => Rank::Number(samples),
            Self::Edges(edges) | Self::EdgesOfBoth { sum: edges, .. } => of_edges(edges),
            Self::PerEdge { weight, .. } => match of_edges(weight.outer_edges) {
                Rank::Number(0) => Rank::Unreturned,
                Rank::Number(edges) => Rank::Ratio(Ratio(weight.edge_samples, edges)),
                rank => rank,
            },
            Self::Side(difference, side) => Rank::Number(difference.samples()[side]),
            // What is lost comes before what is won.
            Self::Delta(difference) | Self::LossShare(difference)
                if difference.is_less() && difference.comparison().scaling.is_some() =>
            {
                Rank::Won(Reverse(difference.size()))
            }
            Self::Delta(difference)
            | Self::Rate(difference)
            | Self::LossShare(difference)
            | Self::End(difference, _) => Rank::Amount(difference.size()),
            Self::Derived { value, .. } | Self::DerivedDelta { value, .. } => {
                Rank::Real(Real(value.high))
            }
            Self::Expected(difference) => Rank::Number(difference.samples()[BASE]),
            Self::Noise(difference) => Rank::Amount(difference.plain_noise()),
            Self::Growth(difference) => match difference.samples() {
                [0, 0] => Rank::Absent,
                [0, other] => Rank::New(other),
                [base, other] => Rank::Ratio(Ratio(other, base)),
            },
        }
    }

    /// How long the bar is that stands for it, in a unit of the column's own; `None` where it is
    /// not exactly known, has no number, or grew from nothing.
    #[must_use]
    pub fn length(&self) -> Option<f64> {
        match (self, self.plain()) {
            (Self::PerEdge { .. }, Plain::Real(ratio)) => Some(ratio),
            (Self::Edges(_), Plain::Bounds(low, high)) if low == high => Some(high as f64),
            (Self::EdgesOfBoth { sum, .. }, _) => Self::Edges(*sum).length(),
            (Self::Delta(_), Plain::Integer(delta)) => Some(delta.unsigned_abs() as f64),
            (Self::Side(..), Plain::Integer(n)) => Some(n as f64),
            (Self::Delta(_) | Self::Rate(_) | Self::Side(..), Plain::Real(n)) => Some(n.abs()),
            (Self::Cost { .. } | Self::Count(_), Plain::Natural(n)) => Some(n as f64),
            (Self::Share { part, .. }, _) => Some(*part as f64),
            (Self::Derived { .. }, Plain::Real(n)) => Some(n.abs()),
            _ => None,
        }
    }

    /// Its samples, where it is about those of one metric.
    #[must_use]
    pub fn samples(&self) -> Option<u64> {
        match *self {
            Self::Cost { samples, .. } | Self::Share { part: samples, .. } => Some(samples),
            _ => None,
        }
    }
}

/// What orders rows by a column. Edge counts go by their upper bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rank<'r> {
    /// There is nothing to compare: last.
    Absent,
    /// So much less than expected.
    Won(Reverse<u128>),
    /// Nothing has returned, so that there is no cost per edge.
    Unreturned,
    /// A number.
    Number(u64),
    /// A weighed number.
    Amount(u128),
    /// A ratio of two numbers.
    Ratio(Ratio),
    /// What a formula makes.
    Real(Real),
    /// So many samples where there were none before.
    New(u64),
    /// A name; they ascend when numbers descend.
    Name(Reverse<&'r str>),
}

/// A number that is finite.
#[derive(Clone, Copy, Debug)]
pub struct Real(f64);

impl Ord for Real {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.total_cmp(&other.0)
    }
}

impl PartialOrd for Real {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Real {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Real {}

/// A ratio of two numbers, the second one not 0.
#[derive(Clone, Copy, Debug)]
pub struct Ratio(u64, u64);

impl Ord for Ratio {
    /// As products, since quotients would need rounding.
    fn cmp(&self, other: &Self) -> Ordering {
        let product = |a: u64, b: u64| u128::from(a) * u128::from(b);
        product(self.0, other.1).cmp(&product(other.0, self.1))
    }
}

impl PartialOrd for Ratio {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Ratio {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Ratio {}

impl Rank<'_> {
    /// A number in the same order, or the same for ranks that are nearly the same; `None` where
    /// there is none, or if it is too great.
    #[must_use]
    pub fn near(&self) -> Option<u32> {
        // Greater ones have no exact counterpart, so their ratios might be out of order.
        let float = |count: u64| (count < 1 << f64::MANTISSA_DIGITS).then_some(count as f64);
        // Positive numbers are in the order of their bits.
        let bits = |number: f64| (number as f32).to_bits();
        match *self {
            Self::Absent => Some(0),
            Self::Unreturned => Some(1),
            Self::Number(n) => u32::try_from(n).ok()?.checked_add(2),
            Self::Amount(n) => bits(n as f64).checked_add(2),
            Self::Ratio(Ratio(part, whole)) => bits(float(part)? / float(whole)?).checked_add(2),
            // Of either sign: those of negative numbers are in the opposite order.
            Self::Real(Real(number)) => match bits(number) {
                negative @ 0x8000_0000.. => !negative,
                positive => positive | 0x8000_0000,
            }
            .checked_add(2),
            Self::Won(_) | Self::New(_) | Self::Name(_) => None,
        }
    }

    /// Whether ranks of this kind may differ where [`near`](Self::near) is the same.
    #[must_use]
    pub fn is_rounded(&self) -> bool {
        matches!(self, Self::Amount(_) | Self::Ratio(_) | Self::Real(_))
    }
}
