//! Tests on what a row costs: `incl(time) < 0.5%`, `edges >= 3`, `cost per edge > 2ms`.
//!
//! A test is asked of rows as a person sees them, all call sites, threads and epochs of one path
//! together; the same function in another place is another row.

use std::fmt::{self, Display, Formatter};

use csprof_format::launch::SourceKind;

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
            Self::Inclusive(Metric::Source(source)) | Self::Exclusive(Metric::Source(source)) => {
                unit.kind() == UnitKind::Share
                    || unit_of(source).is_none_or(|counted| unit.is_of(counted))
            }
            Self::Inclusive(Metric::Samples) | Self::Exclusive(Metric::Samples) => {
                matches!(unit.kind(), UnitKind::Number | UnitKind::Share)
            }
            Self::Inclusive(Metric::Time) | Self::Exclusive(Metric::Time) => {
                matches!(unit.kind(), UnitKind::Time | UnitKind::Share)
            }
            Self::Edges | Self::SamplesPerEdge => unit.kind() == UnitKind::Number,
            Self::CostPerEdge => unit.kind() == UnitKind::Time,
        }
    }

    /// Whether it is a number of samples or edges, whatever one of them stands for.
    pub(crate) fn is_number(&self) -> bool {
        !matches!(self.metric(), Some(Metric::Time | Metric::Source(_)))
    }
}

/// Whether a word means something in tests, where a metric of that name would stand.
pub(crate) fn is_metric_word(word: &str) -> bool {
    let names = Quantity::ALL.iter().map(|(_, name)| *name);
    let names = names.chain(Sides::NAMED.iter().map(|(_, name)| *name));
    !word.is_empty() && names.flat_map(|name| name.split([' ', '(', ')'])).any(|part| part == word)
}

/// Which samples are counted, and in what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Metric {
    /// The number of those of the first metric, whichever is looked at: so a text always means the
    /// same.
    Samples,
    /// The time they stand for: their number times the sampling period.
    Time,
    /// What those of the source with this name stand for, in its unit.
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

/// The unit of what a source counts that csprof knows by name; that of others is known where there
/// is a profile.
fn unit_of(source: &str) -> Option<&'static str> {
    let kind = SourceKind::ALL.into_iter().find(|kind| kind.name() == source)?;
    Some(kind.properties().unit.name())
}

/// What the number of a [`Value`] counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Samples or edges; of a source that counts something else than time, its unit.
    One,
    /// `k`: 1000 of these, 1024 of bytes.
    Kilo,
    /// `M`: 1000 `k`, 1024 of bytes.
    Mega,
    /// `G`: 1000 `M`, 1024 of bytes.
    Giga,
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
    /// `B`
    Bytes,
    /// `KiB`
    Kibibytes,
    /// `MiB`
    Mebibytes,
    /// `GiB`
    Gibibytes,
}

/// What units are of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum UnitKind {
    /// Whatever is counted.
    Number,
    /// A part of a whole.
    Share,
    /// Time.
    Time,
    /// Memory.
    Memory,
}

impl Unit {
    /// All units and how they are written behind a number.
    pub const ALL: [(Self, &'static str); 13] = [
        (Self::One, ""),
        (Self::Kilo, "k"),
        (Self::Mega, "M"),
        (Self::Giga, "G"),
        (Self::Percent(Whole::Base), "%"),
        (Self::Nanoseconds, "ns"),
        (Self::Microseconds, "us"),
        (Self::Milliseconds, "ms"),
        (Self::Seconds, "s"),
        (Self::Bytes, "B"),
        (Self::Kibibytes, "KiB"),
        (Self::Mebibytes, "MiB"),
        (Self::Gibibytes, "GiB"),
    ];

    /// Whether a metric that is counted in `unit` can be compared with so much.
    pub(crate) fn is_of(self, unit: &str) -> bool {
        match self.kind() {
            UnitKind::Share => true,
            UnitKind::Time => unit == "ns",
            UnitKind::Memory => unit == "bytes",
            UnitKind::Number => unit != "ns",
        }
    }

    /// What it is a unit of.
    pub(crate) const fn kind(self) -> UnitKind {
        match self {
            Self::One | Self::Kilo | Self::Mega | Self::Giga => UnitKind::Number,
            Self::Percent(_) => UnitKind::Share,
            Self::Nanoseconds | Self::Microseconds | Self::Milliseconds | Self::Seconds => {
                UnitKind::Time
            }
            Self::Bytes | Self::Kibibytes | Self::Mebibytes | Self::Gibibytes => UnitKind::Memory,
        }
    }

    /// How many of the smallest of its kind one is: nanoseconds, bytes, pieces. `kilo` is how many
    /// `k` is.
    pub(crate) fn size(self, kilo: u64) -> u128 {
        let (base, power): (u64, u32) = match self {
            Self::One | Self::Percent(_) | Self::Nanoseconds | Self::Bytes => (1, 0),
            Self::Kilo => (kilo, 1),
            Self::Mega => (kilo, 2),
            Self::Giga => (kilo, 3),
            Self::Microseconds => (1000, 1),
            Self::Milliseconds => (1000, 2),
            Self::Seconds => (1000, 3),
            Self::Kibibytes => (1024, 1),
            Self::Mebibytes => (1024, 2),
            Self::Gibibytes => (1024, 3),
        };
        u128::from(base).pow(power)
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
            ("1.50M", "1.5M"),
            ("64KiB", "64KiB"),
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
