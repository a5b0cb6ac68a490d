//! `-e SOURCE[@RATE|@PERIOD]`: what to sample, and how often.
//!
//! A bare number, or one with `Hz` or `kHz`, is a rate in samples per second and thread; a number
//! with `ns`, `us`, `ms` or `s` is the time between two samples. Of a source that counts calls, the
//! number is that of calls from one sample to the next.

use csprof_format::launch::{Details, MAX_PERIOD, MIN_PERIOD, SampleSource, SourceKind, Unit};

const SECOND_NS: f64 = 1e9;

/// Units of a period, in nanoseconds.
const PERIOD_UNITS: [(&str, f64); 5] =
    [("ns", 1.0), ("us", 1e3), ("µs", 1e3), ("ms", 1e6), ("s", SECOND_NS)];
/// Units of a rate, in samples per second.
const RATE_UNITS: [(&str, f64); 3] = [("", 1.0), ("hz", 1.0), ("khz", 1e3)];

/// Reads the argument of `-e`.
///
/// # Errors
///
/// A sentence that says what would be right.
pub(super) fn parse(text: &str) -> Result<SampleSource, String> {
    let (name, amount) = match text.split_once('@') {
        Some((name, amount)) => (name, Some(amount)),
        None => (text, None),
    };
    let kind = SourceKind::ALL
        .into_iter()
        .find(|kind| kind.name() == name && kind.properties().details == Details::None)
        .ok_or_else(|| {
            let offered = SourceKind::ALL.into_iter().filter(|kind| kind.properties().is_offered);
            let names = offered.map(SourceKind::name).collect::<Vec<_>>().join(", ");
            format!("there is no sample source `{name}`; there are {names}")
        })?;
    match kind.properties().unit {
        Unit::Nanoseconds => timed(kind, amount),
        Unit::Calls | Unit::Bytes | Unit::Events | Unit::Units => counted(kind, amount),
    }
}

/// A source of calls: the amount is how many of them make a period.
fn counted(kind: SourceKind, amount: Option<&str>) -> Result<SampleSource, String> {
    let Some(amount) = amount else { return Ok(SampleSource::of(kind)) };
    let periods = kind.properties().unit.periods();
    let period = amount.parse().ok().filter(|period| periods.contains(period));
    let period = period.ok_or_else(|| {
        let (least, most) = (periods.start(), periods.end());
        format!("`{amount}` is not a number of calls from {least} to {most}")
    })?;
    Ok(SampleSource::of(kind).every(period))
}

/// A source of time.
fn timed(kind: SourceKind, amount: Option<&str>) -> Result<SampleSource, String> {
    let period_ns = match amount {
        Some(amount) => period_ns(amount)?,
        None => kind.properties().default_period as f64,
    };
    if !(MIN_PERIOD as f64..=MAX_PERIOD as f64).contains(&period_ns) {
        return Err(format!(
            "`{}` is out of range: from one sample every {} s to {} samples per second",
            amount.unwrap_or_default(),
            MAX_PERIOD / 1_000_000_000,
            1_000_000_000 / MIN_PERIOD,
        ));
    }
    Ok(SampleSource::of(kind).every(period_ns.round() as u64))
}

fn period_ns(amount: &str) -> Result<f64, String> {
    let not_an_amount = || {
        format!(
            "`{amount}` is neither a rate (200, 200Hz, 1kHz) nor a period (5ms; units ns us ms s)"
        )
    };
    let digits = amount.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(amount.len());
    let (number, unit) = amount.split_at(digits);
    let number: f64 = number.parse().map_err(|_| not_an_amount())?;
    let unit = unit.trim().to_lowercase();
    if let Some((_, ns)) = PERIOD_UNITS.iter().find(|(name, _)| *name == unit) {
        return Ok(number * ns);
    }
    match RATE_UNITS.iter().find(|(name, _)| *name == unit) {
        // A rate of 0 gives an endless period, which is out of range.
        Some((_, hertz)) => Ok(SECOND_NS / (number * hertz)),
        None => Err(not_an_amount()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_and_periods_mean_the_same() {
        for (text, expected) in [
            ("cputime", "cputime:5000000"),
            ("cputime@200", "cputime:5000000"),
            ("cputime@200Hz", "cputime:5000000"),
            ("cputime@5ms", "cputime:5000000"),
            ("task-clock", "task-clock:1000000"),
            ("task-clock@1kHz", "task-clock:1000000"),
            ("task-clock@250us", "task-clock:250000"),
            ("realtime@0.1", "realtime:10000000000"),
            ("realtime@2.5s", "realtime:2500000000"),
            ("cputime@3", "cputime:333333333"),
            ("cputime@10000ns", "cputime:10000"),
            ("yields", "yields:1000"),
            ("yields@1", "yields:1"),
        ] {
            assert_eq!(parse(text).map(|source| source.to_string()), Ok(expected.into()), "{text}");
        }
    }

    #[test]
    fn errors_say_what_would_be_right() {
        for (text, expected) in [
            (
                "cycles",
                "there is no sample source `cycles`; there are cputime, task-clock, realtime",
            ),
            ("", "there is no sample source ``; there are cputime, task-clock, realtime"),
            (
                "cputime@fast",
                "`fast` is neither a rate (200, 200Hz, 1kHz) nor a period (5ms; units ns us ms s)",
            ),
            (
                "cputime@",
                "`` is neither a rate (200, 200Hz, 1kHz) nor a period (5ms; units ns us ms s)",
            ),
            (
                "cputime@-5",
                "`-5` is neither a rate (200, 200Hz, 1kHz) nor a period (5ms; units ns us ms s)",
            ),
            (
                "cputime@0",
                "`0` is out of range: from one sample every 10 s to 100000 samples per second",
            ),
            (
                "cputime@1ns",
                "`1ns` is out of range: from one sample every 10 s to 100000 samples per second",
            ),
            ("yields@0", "`0` is not a number of calls from 1 to 10000000000"),
            ("yields@5ms", "`5ms` is not a number of calls from 1 to 10000000000"),
        ] {
            assert_eq!(parse(text), Err(expected.into()), "{text}");
        }
    }
}
