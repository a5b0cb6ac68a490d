//! `-e SOURCE[@AMOUNT]`: what to sample, and how often.
//!
//! Of a source of time, a bare number, or one with `Hz` or `kHz`, is a rate in samples per second
//! and thread; a number with `ns`, `us`, `ms` or `s` is the time between two samples. Of any other
//! source, the number is how much of it is counted from one sample to the next.

use csprof_format::launch::{
    Detail, Details, Label, MAX_PERIOD, MIN_PERIOD, SampleSource, SourceKind, Unit,
};

const SECOND_NS: f64 = 1e9;

/// Units of a period, in nanoseconds.
const PERIOD_UNITS: [(&str, f64); 5] =
    [("ns", 1.0), ("us", 1e3), ("µs", 1e3), ("ms", 1e6), ("s", SECOND_NS)];
/// Units of a rate, in samples per second.
const RATE_UNITS: [(&str, f64); 3] = [("", 1.0), ("hz", 1.0), ("khz", 1e3)];
/// What a number of bytes, and one of anything else, may end with.
const BYTE_UNITS: [(&str, u64); 4] = [("", 1), ("k", 1 << 10), ("m", 1 << 20), ("g", 1 << 30)];
const COUNT_UNITS: [(&str, u64); 4] =
    [("", 1), ("k", 1_000), ("m", 1_000_000), ("g", 1_000_000_000)];

/// Sources that are asked for together by one name.
const GROUPS: [(&str, [SourceKind; 3]); 1] =
    [("io", [SourceKind::IoRead, SourceKind::IoWrite, SourceKind::IoTime])];

/// What one `-e` asks for: a source, or all that go by one name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Asked(pub(super) Vec<SampleSource>);

/// Reads the argument of `-e`.
///
/// # Errors
///
/// A sentence that says what would be right.
pub(super) fn parse(text: &str) -> Result<Asked, String> {
    let (name, amount) = match text.split_once('@') {
        Some((name, amount)) => (name, Some(amount)),
        None => (text, None),
    };
    if let Some((_, members)) = GROUPS.iter().find(|(group, _)| *group == name) {
        return match amount {
            Some(_) => Err(format!(
                "`{name}` is {}: give amounts to these",
                members.map(SourceKind::name).join(", ")
            )),
            None => Ok(Asked(members.map(SampleSource::of).to_vec())),
        };
    }
    let source = named(name)?;
    let period = match amount {
        Some(amount) => period(source.kind.properties().unit, amount)?,
        None => source.period,
    };
    Ok(Asked(vec![source.every(period)]))
}

/// The source of this name, with the period that it has where none is asked for.
fn named(name: &str) -> Result<SampleSource, String> {
    let is_it =
        |kind: &SourceKind| kind.name() == name && kind.properties().details == Details::None;
    if let Some(kind) = SourceKind::ALL.into_iter().find(is_it) {
        return Ok(SampleSource::of(kind));
    }
    if let Some(label) = name.strip_prefix("resource:") {
        let label = Label::new(label).ok_or_else(|| {
            format!("`{label}` is no name of a resource: 1 to 48 graphic characters of ASCII")
        })?;
        let detail = Detail::Label(label);
        return Ok(SampleSource { detail, ..SampleSource::of(SourceKind::Resource) });
    }
    let offered = SourceKind::ALL.into_iter().filter(|kind| kind.properties().is_offered);
    let names = offered.map(SourceKind::name).collect::<Vec<_>>().join(", ");
    Err(format!("there is no sample source `{name}`; there are {names}"))
}

/// The period that an amount asks for, in the unit of its source.
fn period(unit: Unit, amount: &str) -> Result<u64, String> {
    match unit {
        Unit::Nanoseconds => timed(amount),
        Unit::Bytes => counted(unit, "bytes (512K; units K M G)", BYTE_UNITS, amount),
        Unit::Calls => counted(unit, "calls", COUNT_UNITS, amount),
        Unit::Events => counted(unit, "events", COUNT_UNITS, amount),
        Unit::Units => counted(unit, "units", COUNT_UNITS, amount),
    }
}

/// A source that counts: how much makes a period.
fn counted(
    unit: Unit,
    what: &str,
    multiples: [(&str, u64); 4],
    amount: &str,
) -> Result<u64, String> {
    let digits = amount.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    let ending = amount[digits.len()..].to_ascii_lowercase();
    let multiple = multiples.iter().find(|(name, _)| *name == ending).map(|&(_, each)| each);
    let period = multiple.and_then(|each| digits.parse::<u64>().ok()?.checked_mul(each));
    let periods = unit.periods();
    period.filter(|period| periods.contains(period)).ok_or_else(|| {
        let (least, most) = (periods.start(), periods.end());
        format!("`{amount}` is not a number of {what} from {least} to {most}")
    })
}

/// A source of time: a rate, or the time from one sample to the next.
fn timed(amount: &str) -> Result<u64, String> {
    let period_ns = period_ns(amount)?;
    if !(MIN_PERIOD as f64..=MAX_PERIOD as f64).contains(&period_ns) {
        return Err(format!(
            "`{amount}` is out of range: from one sample every {} s to {} samples per second",
            MAX_PERIOD / 1_000_000_000,
            1_000_000_000 / MIN_PERIOD,
        ));
    }
    Ok(period_ns.round() as u64)
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
            ("yields@2k", "yields:2000"),
            ("io", "io-read:65536"),
            ("io-read@4k", "io-read:4096"),
            ("lock", "lock:1000000"),
            ("io-time@100us", "io-time:100000"),
            ("resource:rows", "resource:1000:rows"),
            ("resource:rows:read@3M", "resource:3000000:rows:read"),
        ] {
            let asked = parse(text).map(|Asked(sources)| sources[0].to_string());
            assert_eq!(asked, Ok(expected.into()), "{text}");
        }
    }

    #[test]
    fn errors_say_what_would_be_right() {
        for (text, expected) in [
            (
                "cycles",
                "there is no sample source `cycles`; there are cputime, task-clock, realtime, \
                 io-read, io-write, io-time, lock, mpi",
            ),
            (
                "",
                "there is no sample source ``; there are cputime, task-clock, realtime, \
                 io-read, io-write, io-time, lock, mpi",
            ),
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
            ("io@4k", "`io` is io-read, io-write, io-time: give amounts to these"),
            ("yields@0", "`0` is not a number of calls from 1 to 10000000000"),
            ("yields@5ms", "`5ms` is not a number of calls from 1 to 10000000000"),
        ] {
            assert_eq!(parse(text), Err(expected.into()), "{text}");
        }
    }
}
