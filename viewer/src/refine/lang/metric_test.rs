//! Tests on what a row costs: `incl(time) < 0.5%`, `edges >= 3`, `cost per edge > 2ms`.
//!
//! A test is asked of rows as a person sees them, all call sites, threads and epochs of one path
//! together; the same function in another place is another row.

use std::fmt::{self, Display, Formatter};

use super::comparison::Comparison;

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
    pub(crate) fn nanoseconds(self) -> u128 {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_print_as_they_are_read() {
        for (text, printed) in [
            ("0.50%", "0.5%"),
            ("5", "5"),
            ("007.5ms", "7.5ms"),
            ("0.000001s", "0.000001s"),
            ("10.0us", "10us"),
            ("0", "0"),
        ] {
            assert_eq!(Value::read(text).unwrap().to_string(), printed);
        }
        for wrong in
            ["", "%", "5.", ".5", "1.2.3", "5 %", "5h", "0.0000001%", "-3", "1234567890123"]
        {
            assert_eq!(Value::read(wrong), None, "{wrong}");
        }
    }
}
