//! A part of a run as people write it: `2.5s..4s`, `..10s`, `90%..`.

use std::fmt::{self, Display, Formatter};

use super::metric_test::{Unit, UnitKind, Value, Whole};
use crate::profile::Window;

/// From a time to another, which is no part of it; one of them at least.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Period {
    /// Since the start of the run, or a share of it; from its start if there is none.
    pub from: Option<Value>,
    /// Likewise; to its end if there is none.
    pub to: Option<Value>,
}

impl Period {
    /// Reads one; `None` if it is none, or if nothing can be in it.
    #[must_use]
    pub fn read(text: &str) -> Option<Self> {
        let (from, to) = text.split_once("..")?;
        let is_time = |value: &Value| matches!(value.unit.kind(), UnitKind::Time | UnitKind::Share);
        let end = |text: &str| match text {
            "" => Some(None),
            text => Value::read(text).filter(is_time).map(Some),
        };
        let (from, to) = (end(from)?, end(to)?);
        let period = Self { from, to };
        ((from.is_some() || to.is_some()) && !period.is_empty()).then_some(period)
    }

    /// Whether it is none of any run. Of a time and a share, that depends on the run.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        let is_share = |value: Value| matches!(value.unit, Unit::Percent(_));
        let scaled = |value: Value, other: Value| {
            let of_unit = if is_share(value) { 1 } else { value.unit.size(1000) };
            u128::from(value.digits) * of_unit * 10_u128.pow(other.decimals)
        };
        match (self.from, self.to) {
            (_, Some(to)) if to.digits == 0 => true,
            (Some(from), Some(to)) => {
                is_share(from) == is_share(to) && scaled(from, to) >= scaled(to, from)
            }
            _ => false,
        }
    }

    /// From a time to another, in nanoseconds.
    #[must_use]
    pub fn between(from_ns: u64, to_ns: u64) -> Self {
        let value = |ns: u64| {
            // The largest unit that has no more decimals than a number may have.
            let units = [Unit::Seconds, Unit::Milliseconds, Unit::Microseconds, Unit::Nanoseconds];
            let fits = |unit: Unit| {
                let mut decimals = 0;
                let (mut digits, mut of_unit) = (ns, unit.size(1000) as u64);
                while of_unit > 1 && digits.is_multiple_of(10) {
                    (digits, of_unit) = (digits / 10, of_unit / 10);
                }
                while of_unit > 1 {
                    (of_unit, decimals) = (of_unit / 10, decimals + 1);
                }
                let value = Value { negative: false, digits, decimals, unit };
                (decimals <= Value::MOST_DECIMALS).then_some(value)
            };
            units.into_iter().find_map(fits)
        };
        Self { from: value(from_ns), to: value(to_ns) }
    }

    /// What it is of a run that ends so long after its start.
    #[must_use]
    pub fn window(&self, end_ns: u64) -> Window {
        let ns = |value: Value| {
            let amount = u128::from(value.digits);
            let scale = 10_u128.pow(value.decimals);
            let ns = match value.unit {
                Unit::Percent(Whole::Base | Whole::View) => {
                    amount * u128::from(end_ns) / (100 * scale)
                }
                unit => amount * unit.size(1000) / scale,
            };
            u64::try_from(ns).unwrap_or(u64::MAX)
        };
        Window { from_ns: self.from.map_or(0, ns), to_ns: self.to.map(ns) }
    }
}

impl Display for Period {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let end = |value: Option<Value>| value.map_or_else(String::new, |value| value.to_string());
        write!(f, "{}..{}", end(self.from), end(self.to))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_a_run_are_read_and_written() {
        for (text, from_ns, to_ns) in [
            ("2.5s..4s", 2_500_000_000, Some(4_000_000_000)),
            ("..10s", 0, Some(10_000_000_000)),
            ("90%..", 1_800, None),
            ("12.5%..50us", 250, Some(50_000)),
            ("0ns..1ns", 0, Some(1)),
        ] {
            let period = Period::read(text).unwrap();
            assert_eq!(period.to_string(), text);
            assert_eq!(period.window(2_000), Window { from_ns, to_ns }, "{text}");
        }
        for wrong in
            ["", "..", "2s", "2..4", "2s...4s", "-1s..", "2h..", "2s..4s..5s", "2k..4k", "1B.."]
        {
            assert_eq!(Period::read(wrong), None, "{wrong}");
        }
        // Nothing is in these.
        for wrong in ["4s..2s", "50%..25%", "..0s", "..0%", "2s..2000ms", "1.5%..1.25%", "5%..0s"] {
            assert_eq!(Period::read(wrong), None, "{wrong}");
        }
        for right in ["4s..25%", "50%..2s", "1999ms..2s", "0%..0.5%"] {
            assert!(Period::read(right).is_some(), "{right}");
        }
    }

    #[test]
    fn times_of_the_viewer_are_written_and_mean_the_same() {
        for (from, to, text) in [
            (0, 2_500_000_000, "0s..2.5s"),
            (1_000_001, 1_234_567_891_000, "1.000001ms..1234.567891s"),
            (1, 999_999_999_999, "0.000001ms..999999.999999ms"),
        ] {
            let period = Period::between(from, to);
            let window = Window { from_ns: from, to_ns: Some(to) };
            assert_eq!((period.window(7), period.to_string().as_str()), (window, text));
            assert_eq!(Period::read(text), Some(period));
        }
    }
}
