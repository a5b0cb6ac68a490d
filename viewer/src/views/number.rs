//! Numbers for people: counts, amounts with units, shares.
//!
//! Every number here is rounded so that it is never a lie about a limit: what is not all is not
//! shown as 100 %, what is not nothing is not shown as 0, and bounds are rounded outward.

use csprof_format::profile::Metric;

use super::printable::printable;
use super::row::Edges;
use crate::profile::derived::{Shown, Value};

/// Which characters may be used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Form {
    /// Thin spaces between groups of digits (U+2009), `≤`, `µs`.
    #[default]
    Unicode,
    /// Plain spaces, `<=`, `us`.
    Ascii,
}

impl Form {
    const fn group_separator(self) -> char {
        match self {
            Self::Unicode => '\u{2009}',
            Self::Ascii => ' ',
        }
    }

    const fn at_most(self) -> &'static str {
        match self {
            Self::Unicode => "≤",
            Self::Ascii => "<=",
        }
    }

    const fn microseconds(self) -> &'static str {
        match self {
            Self::Unicode => "µs",
            Self::Ascii => "us",
        }
    }
}

/// Things counted: `1 sample`, `2 samples`, `2 processes`.
#[must_use]
pub fn counted(n: u64, noun: &str, form: Form) -> String {
    let ending = match (n, noun.ends_with('s')) {
        (1, _) => "",
        (_, true) => "es",
        (_, false) => "s",
    };
    format!("{} {noun}{ending}", count(n, form))
}

/// A count with every digit, in groups of three: `1 204`.
#[must_use]
pub fn count(n: u64, form: Form) -> String {
    let digits = n.to_string();
    let mut text = String::with_capacity(digits.len() * 2);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(form.group_separator());
        }
        text.push(digit);
    }
    text
}

/// So many units of a metric, not samples, as an amount for people.
#[must_use]
pub fn amount_of_units(units: u128, metric: &Metric, form: Form) -> String {
    let one = Metric { period: 1, ..metric.clone() };
    amount(u64::try_from(units).unwrap_or(u64::MAX), &one, form)
}

/// Where a number that is cut short goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rounding {
    /// To the nearest.
    Nearest,
    /// Down: for a lower bound.
    Down,
    /// Up: for an upper bound.
    Up,
}

/// A count in at most four characters and a letter: `999`, `1.2k`, `31M`, `120G`.
#[must_use]
pub fn brief(n: u64, rounding: Rounding) -> String {
    if n < 1000 {
        return n.to_string();
    }
    let mut unit = 1u128;
    let n = u128::from(n);
    for letter in ["k", "M", "G", "T", "P", "E"] {
        unit *= 1000;
        // In tenths of the unit, so that one digit follows the point below ten units.
        let tenths = divide(n * 10, unit, rounding);
        if tenths < 100 {
            return format!("{}.{}{letter}", tenths / 10, tenths % 10);
        }
        let whole = divide(n, unit, rounding);
        if whole < 1000 {
            return format!("{whole}{letter}");
        }
    }
    n.to_string()
}

fn divide(n: u128, by: u128, rounding: Rounding) -> u128 {
    match rounding {
        Rounding::Nearest => (n + by / 2) / by,
        Rounding::Down => n / by,
        Rounding::Up => n.div_ceil(by),
    }
}

/// An edge count: `1 204` exact, `≤9` and `4..9` between bounds, `running` for none returned, and
/// nothing where there is no count.
#[must_use]
pub fn edges(edges: Edges, form: Form) -> String {
    match edges {
        Edges::None => String::new(),
        Edges::Range { high: 0, .. } => "running".to_owned(),
        Edges::Range { low, high } if low == high => count(low, form),
        Edges::Range { low: 0, high } => {
            format!("{}{}", form.at_most(), brief(high, Rounding::Up))
        }
        Edges::Range { low, high } => {
            between([brief(low, Rounding::Down), brief(high, Rounding::Up)])
        }
    }
}

/// What is said of a number of which two bounds are known: one text if both are the same, else
/// `4..9`.
#[must_use]
pub fn between([low, high]: [String; 2]) -> String {
    if low == high { low } else { format!("{low}..{high}") }
}

/// A number of which two bounds are known, if these leave no other one.
#[must_use]
pub fn exact([low, high]: [u64; 2]) -> Option<u64> {
    (low == high).then_some(low)
}

/// What a number of samples amounts to: samples × period, as a time where the metric is one.
#[must_use]
pub fn amount(samples: u64, metric: &Metric, form: Form) -> String {
    amount_per(samples, 1, metric, form)
}

/// What samples amount to for each of `divisor` things, which is taken as 1 if it is 0.
#[must_use]
pub fn amount_per(samples: u64, divisor: u64, metric: &Metric, form: Form) -> String {
    let total = u128::from(samples) * u128::from(metric.period);
    let each = total as f64 / divisor.max(1) as f64;
    if metric.is_time() {
        return duration(each, form);
    }
    if is_of_bytes(metric) {
        return memory(each, form);
    }
    let divisor = u128::from(divisor.max(1));
    if total / divisor >= 10 || total.is_multiple_of(divisor) {
        let each = divide(total, divisor, Rounding::Nearest);
        return in_unit(u64::try_from(each).unwrap_or(u64::MAX), metric);
    }
    let number = match divide(total * 10, divisor, Rounding::Nearest) {
        0 => "<0.1".to_owned(),
        tenths => format!("{}.{}", tenths / 10, tenths % 10),
    };
    with_unit(number, metric)
}

/// So much of what is no time, in the metric's unit: `1 call`, `12k calls`, `12.3 KiB`.
pub fn in_unit(number: u64, metric: &Metric) -> String {
    if is_of_bytes(metric) {
        return memory(number as f64, Form::Ascii);
    }
    with_unit(brief(number, Rounding::Nearest), metric)
}

fn is_of_bytes(metric: &Metric) -> bool {
    metric.unit == "bytes"
}

/// Memory, or what was read and written, in three digits and units of 1024, as programs ask for it:
/// `640 B`, `12.3 KiB`, `1.20 MiB`; of less than ten bytes a tenth: `0.4 B`.
#[must_use]
pub fn memory(bytes: f64, form: Form) -> String {
    const UNITS: [&str; 7] = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    let (mut value, mut unit) = (bytes, 0);
    // What would be written as 1024 is 1.00 of the next.
    while value >= 1023.5 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    let number = match value {
        _ if unit == 0 && value > 0.0 && value < 0.05 => "<0.1".to_owned(),
        _ if unit == 0 && value < 9.95 && value.fract() != 0.0 => format!("{value:.1}"),
        _ if unit > 0 && value < 9.995 => format!("{value:.2}"),
        _ if unit > 0 && value < 99.95 => format!("{value:.1}"),
        _ => count(value.round() as u64, form),
    };
    format!("{number} {}", UNITS[unit])
}

/// The same of a number that need not be whole: with so many decimals below 1000.
pub fn in_unit_of(number: f64, decimals: u32, metric: &Metric, form: Form) -> String {
    match number < 999.5 && decimals > 0 && !is_of_bytes(metric) {
        true => with_unit(decimal(number, decimals, form), metric),
        false => in_unit(number.round() as u64, metric),
    }
}

/// A positive number with so many decimals, and its digits before them in groups of three:
/// `1 204.7`.
#[must_use]
pub fn decimal(number: f64, decimals: u32, form: Form) -> String {
    let digits = format!("{number:.*}", decimals as usize);
    let (whole, fraction) = digits.split_at(digits.find('.').unwrap_or(digits.len()));
    format!("{}{fraction}", count(whole.parse().unwrap_or(u64::MAX), form))
}

pub(super) fn with_unit(number: String, metric: &Metric) -> String {
    let unit = printable(&metric.unit);
    // A short one is a symbol.
    let is_word = unit.len() > 3;
    // `misses` and `switches` end with one syllable more.
    let sibilant = ["sses", "ches", "shes", "xes"].iter().any(|ending| unit.ends_with(ending));
    let one = unit.strip_suffix(if sibilant { "es" } else { "s" });
    let unit = match one {
        Some(one) if number == "1" && is_word => one,
        _ => &unit,
    };
    if unit.is_empty() { number } else { format!("{number} {unit}") }
}

/// A time in three digits, or four for whole seconds: `250 ns`, `5.00 ms`, `50.8 s`, `1 204 s`,
/// `167 min`, `27.8 h`. Seconds go up to 9 999, since most columns are in seconds and comparing
/// across units is hard.
#[must_use]
pub fn duration(ns: f64, form: Form) -> String {
    /// Unit, its length in nanoseconds, and the number of them that is already too many.
    const UNITS: [(&str, f64, f64); 6] = [
        ("ns", 1.0, 999.5),
        ("µs", 1e3, 999.5),
        ("ms", 1e6, 999.5),
        ("s", 1e9, 9999.5),
        ("min", 60e9, 599.5),
        ("h", 3600e9, f64::INFINITY),
    ];
    let (name, length, _) =
        UNITS.into_iter().find(|&(_, length, limit)| ns / length < limit).unwrap_or(UNITS[5]);
    let name = if name == "µs" { form.microseconds() } else { name };
    let value = ns / length;
    let number = match value {
        // Fractions of a nanosecond mean nothing.
        _ if length == 1.0 => format!("{value:.0}"),
        _ if value < 9.995 => format!("{value:.2}"),
        _ if value < 99.95 => format!("{value:.1}"),
        _ => count(value.round() as u64, form),
    };
    format!("{number} {name}")
}

/// An amount of memory with three digits: `640 B`, `12.3 kB`, `1.20 MB`; units of 1000.
#[must_use]
pub fn bytes(n: u64, form: Form) -> String {
    const UNITS: [&str; 5] = ["kB", "MB", "GB", "TB", "PB"];
    if n < 1000 {
        return format!("{} B", count(n, form));
    }
    let mut value = n as f64 / 1e3;
    let mut unit = 0;
    // What would be written as 1000 is 1.00 of the next.
    while value >= 999.5 && unit + 1 < UNITS.len() {
        value /= 1e3;
        unit += 1;
    }
    let digits = if value < 9.995 { 2 } else { usize::from(value < 99.95) };
    format!("{value:.digits$} {}", UNITS[unit])
}

/// An amount of memory in units of 1024, as limits are given, rounded up to a tenth: `640 B`,
/// `64 KiB`, `1.3 MiB`.
#[must_use]
pub fn binary_bytes(n: u64, form: Form) -> String {
    let (unit, name) = match n {
        0..1024 => return format!("{} B", count(n, form)),
        1024..0x10_0000 => (1_u64 << 10, "KiB"),
        _ => (1 << 20, "MiB"),
    };
    let tenths = (u128::from(n) * 10).div_ceil(unit.into());
    let whole = count((tenths / 10) as u64, form);
    if tenths % 10 == 0 {
        format!("{whole} {name}")
    } else {
        format!("{whole}.{} {name}", tenths % 10)
    }
}

/// A value of a formula in three digits, with its unit: `1.23`, `12.3k`, `43.2%`, `5.00 ms`;
/// `0.50..1.2` between bounds, which are rounded outward.
#[must_use]
pub fn value(value: Value, shown: Shown, form: Form) -> String {
    if value.is_exact() {
        return shown_value(value.low, shown, form);
    }
    // Three digits of what is shown: memory is, in units of 1024.
    let bound = |number: f64, rounding| {
        let mut unit = 1.0;
        while shown == Shown::Bytes && number.abs() / unit >= 1024.0 {
            unit *= 1024.0;
        }
        shown_value(digits(number / unit, rounding) * unit, shown, form)
    };
    between([bound(value.low, Rounding::Down), bound(value.high, Rounding::Up)])
}

fn shown_value(number: f64, shown: Shown, form: Form) -> String {
    let sign = if number < 0.0 { "-" } else { "" };
    let size = number.abs();
    let text = match shown {
        Shown::Number => plain(size),
        Shown::Percent => format!("{}%", plain(size * 100.0)),
        // Of a time for each of many things, fractions of a nanosecond mean something.
        Shown::Time if size >= 99.95 || size == 0.0 => duration(size, form),
        Shown::Time => format!("{} ns", plain(size)),
        Shown::Bytes if size >= 999.5 => memory(size, form),
        Shown::Bytes => format!("{} B", plain(size)),
    };
    format!("{sign}{text}")
}

/// A number that is not negative in three digits: `0.00123`, `1.23`, `12.3k`, `1.23e-9`, `0`.
fn plain(number: f64) -> String {
    const UNITS: [&str; 7] = ["", "k", "M", "G", "T", "P", "E"];
    if number == 0.0 {
        return "0".to_owned();
    }
    // What is rounded to 10.0 has one more digit before its point.
    let text = format!("{number:.2e}");
    let exponent = text.split_once('e').and_then(|(_, exponent)| exponent.parse::<i32>().ok());
    let exponent = exponent.unwrap_or(i32::MAX);
    let unit = usize::try_from(exponent.div_euclid(3)).unwrap_or(0);
    if exponent < -4 || unit >= UNITS.len() {
        return text;
    }
    let decimals = usize::try_from(2 - exponent + 3 * unit as i32).unwrap_or(0);
    format!("{:.decimals$}{}", number / 1000_f64.powi(unit as i32), UNITS[unit])
}

/// A number of three digits beside this one.
fn digits(number: f64, rounding: Rounding) -> f64 {
    if number == 0.0 {
        return number;
    }
    let unit = 10_f64.powf(number.abs().log10().floor() - 2.0);
    let rounded = match rounding {
        Rounding::Down => (number / unit).floor() * unit,
        Rounding::Up => (number / unit).ceil() * unit,
        Rounding::Nearest => (number / unit).round() * unit,
    };
    if rounded.is_finite() { rounded } else { number }
}

/// A share in percent with one decimal, without the sign: `50.8`, `100`, `<0.1`, `0`, and
/// nothing of nothing is nothing. Only all is `100`, and only nothing is `0`. A part measured by
/// another clock than the whole may be more: `101.2`.
#[must_use]
pub fn percent(part: u64, whole: u64) -> String {
    if part == 0 {
        return "0".to_owned();
    }
    if whole == 0 {
        return "-".to_owned();
    }
    match divide(u128::from(part) * 1000, u128::from(whole), Rounding::Nearest) {
        0 => "<0.1".to_owned(),
        tenths if part < whole => tenths_of_percent(tenths.min(999)),
        tenths => tenths_of_percent(tenths),
    }
}

/// Two shares that add up to 100 % as written, for `shown x% + out y% = 100%`. A part that is
/// not nothing is never written as 0. `None` if both are 0.
#[must_use]
pub fn shares(shown: u64, out: u64) -> Option<(String, String)> {
    let whole = u128::from(shown) + u128::from(out);
    if whole == 0 {
        return None;
    }
    let nearest = divide(u128::from(shown) * 1000, whole, Rounding::Nearest);
    let tenths = match (shown, out) {
        (0, _) => 0,
        (_, 0) => 1000,
        _ => nearest.clamp(1, 999),
    };
    Some((tenths_of_percent(tenths), tenths_of_percent(1000 - tenths)))
}

/// The line that accounts for everything measured: `shown 38.8% + out 61.2% = 100%`.
#[must_use]
pub fn account(shown: u64, out: u64) -> String {
    match shares(shown, out) {
        Some((shown, out)) => format!("shown {shown}% + out {out}% = 100%"),
        None => "no samples".to_owned(),
    }
}

fn tenths_of_percent(tenths: u128) -> String {
    match tenths {
        0 => "0".to_owned(),
        1000 => "100".to_owned(),
        _ => format!("{}.{}", tenths / 10, tenths % 10),
    }
}

/// Bytes in hexadecimal digits.
#[must_use]
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_formulas_have_three_digits() {
        let shown = |number, shown| value(Value::exact(number), shown, Form::Ascii);
        for (number, text) in [
            (0.0, "0"),
            (1.0, "1.00"),
            (-0.5, "-0.500"),
            (9.999, "10.0"),
            (99.96, "100"),
            (999.6, "1.00k"),
            (12_345.0, "12.3k"),
            (0.001_234, "0.00123"),
            (0.000_012_34, "1.23e-5"),
            (1.5e21, "1.50e21"),
            (-f64::MAX, "-1.80e308"),
        ] {
            assert_eq!(shown(number, Shown::Number), text);
        }
        assert_eq!(shown(1.0 / 3.0, Shown::Percent), "33.3%");
        assert_eq!(shown(1.284, Shown::Time), "1.28 ns");
        assert_eq!(shown(-2e9, Shown::Time), "-2.00 s");
        assert_eq!(shown(0.0, Shown::Time), "0 ns");
        assert_eq!(shown(12.0, Shown::Bytes), "12.0 B");
        assert_eq!(shown(4096.0, Shown::Bytes), "4.00 KiB");
        let bounds = Value { low: 4090.0, high: 4200.0 };
        assert_eq!(value(bounds, Shown::Bytes, Form::Ascii), "3.99 KiB..4.11 KiB");
        // Bounds are rounded outward.
        let between = |low, high| value(Value { low, high }, Shown::Number, Form::Ascii);
        assert_eq!(between(1.239, 2.001), "1.23..2.01");
        assert_eq!(between(-2.001, 0.0), "-2.01..0");
        assert_eq!(between(0.5, 2.0), "0.500..2.00");
    }

    #[test]
    fn memory_has_three_digits() {
        let cases = [(0, "0 B"), (999, "999 B"), (1000, "1.00 kB"), (12_345, "12.3 kB")];
        let more = [(999_499, "999 kB"), (999_500, "1.00 MB"), (3_456_000_000, "3.46 GB")];
        for (n, text) in cases.into_iter().chain(more) {
            assert_eq!(bytes(n, Form::Ascii), text);
        }
    }

    fn cputime(period: u64) -> Metric {
        Metric { source: "cputime".to_owned(), unit: "ns".to_owned(), period }
    }

    #[test]
    fn counts() {
        assert_eq!(count(0, Form::Ascii), "0");
        assert_eq!(count(999, Form::Ascii), "999");
        assert_eq!(count(1204, Form::Ascii), "1 204");
        assert_eq!(count(1204, Form::Unicode), "1\u{2009}204");
        assert_eq!(count(31_200_000, Form::Ascii), "31 200 000");
        assert_eq!(count(u64::MAX, Form::Ascii), "18 446 744 073 709 551 615");
    }

    #[test]
    fn brief_counts_round_as_told() {
        assert_eq!(brief(999, Rounding::Up), "999");
        assert_eq!(brief(1149, Rounding::Down), "1.1k");
        assert_eq!(brief(1149, Rounding::Nearest), "1.1k");
        assert_eq!(brief(1149, Rounding::Up), "1.2k");
        assert_eq!(brief(9_960, Rounding::Nearest), "10k");
        assert_eq!(brief(999_600, Rounding::Nearest), "1.0M");
        assert_eq!(brief(999_600, Rounding::Down), "999k");
        assert_eq!(brief(31_200_000, Rounding::Nearest), "31M");
        assert_eq!(brief(u64::MAX, Rounding::Nearest), "18E");
    }

    #[test]
    fn edge_counts_are_exact_or_bounded() {
        let range = |low, high| edges(Edges::Range { low, high }, Form::Unicode);
        assert_eq!(range(1204, 1204), "1\u{2009}204");
        assert_eq!(range(0, 9), "≤9");
        assert_eq!(range(4, 9), "4..9");
        assert_eq!(range(0, 1190), "≤1.2k");
        assert_eq!(range(1190, 1210), "1.1k..1.3k");
        assert_eq!(range(0, 0), "running");
        assert_eq!(edges(Edges::None, Form::Unicode), "");
        assert_eq!(edges(Edges::Range { low: 0, high: 9 }, Form::Ascii), "<=9");
    }

    #[test]
    fn a_number_between_bounds_that_read_the_same_is_one_text() {
        let text = |bounds: [u64; 2]| between(bounds.map(|ns| duration(ns as f64, Form::Ascii)));
        assert_eq!(text([20, 180]), "20 ns..180 ns");
        assert_eq!(text([5_000_000, 5_000_001]), "5.00 ms");
        assert_eq!([exact([4, 4]), exact([4, 5])], [Some(4), None]);
    }

    #[test]
    fn durations() {
        let text = |ns| duration(ns, Form::Ascii);
        assert_eq!(text(0.0), "0 ns");
        assert_eq!(text(250.0), "250 ns");
        assert_eq!(text(999.4), "999 ns");
        assert_eq!(text(999.5), "1.00 us");
        assert_eq!(duration(1500.0, Form::Unicode), "1.50 µs");
        assert_eq!(text(5e6), "5.00 ms");
        assert_eq!(text(511e6), "511 ms");
        assert_eq!(text(999.6e6), "1.00 s");
        assert_eq!(text(9.996e9), "10.0 s");
        assert_eq!(text(50.8e9), "50.8 s");
        assert_eq!(text(99.96e9), "100 s");
        assert_eq!(text(1204e9), "1 204 s");
        assert_eq!(text(9999.6e9), "167 min");
        assert_eq!(text(100_000e9), "27.8 h");
        assert_eq!(text(1e15), "278 h");
    }

    #[test]
    fn amounts_are_samples_times_period() {
        assert_eq!(amount(240_800, &cputime(5_000_000), Form::Ascii), "1 204 s");
        assert_eq!(amount_per(3, 2, &cputime(5_000_000), Form::Ascii), "7.50 ms");
        assert_eq!(
            amount(u64::MAX, &cputime(u64::MAX), Form::Ascii).split(' ').next_back(),
            Some("h")
        );
        let misses = Metric { source: "misses".into(), unit: "misses".into(), period: 10_000 };
        assert_eq!(amount(123, &misses, Form::Ascii), "1.2M misses");
        assert_eq!(in_unit(12_000, &misses), "12k misses");
    }

    #[test]
    fn bytes_are_told_in_units_of_1024() {
        let alloc = Metric { source: "alloc".into(), unit: "bytes".into(), period: 1024 };
        for (samples, text) in [
            (0, "0 B"),
            (1, "1.00 KiB"),
            (12, "12.0 KiB"),
            (1023, "1 023 KiB"),
            (1024, "1.00 MiB"),
            (123 << 20, "123 GiB"),
            (u64::MAX, "16 384 EiB"),
        ] {
            assert_eq!(amount(samples, &alloc, Form::Ascii), text);
        }
        assert_eq!(amount_of_units(640, &alloc, Form::Unicode), "640 B");
        for (bytes, text) in [
            (0.01, "<0.1 B"),
            (0.44, "0.4 B"),
            (9.0, "9 B"),
            (1023.4, "1 023 B"),
            (1023.6, "1.00 KiB"),
        ] {
            assert_eq!(memory(bytes, Form::Ascii), text);
        }
        assert_eq!(amount_per(1, 10, &alloc, Form::Ascii), "102 B");
        assert_eq!(in_unit_of(2048.5, 2, &alloc, Form::Ascii), "2.00 KiB");
    }

    #[test]
    fn a_part_of_what_is_no_time_is_not_rounded_to_none() {
        let calls = Metric { source: "calls".into(), unit: "calls".into(), period: 1 };
        for (samples, divisor, text) in [
            (4, 10, "0.4 calls"),
            (4, 3, "1.3 calls"),
            (1, 100, "<0.1 calls"),
            (5, 100, "0.1 calls"),
            (99, 100, "1.0 calls"),
            (4, 4, "1 call"),
            (6, 2, "3 calls"),
            (0, 7, "0 calls"),
            (996, 100, "10.0 calls"),
            (31, 2, "16 calls"),
            (5, 0, "5 calls"),
        ] {
            assert_eq!(amount_per(samples, divisor, &calls, Form::Ascii), text);
        }
        let most = Metric { period: u64::MAX, ..calls };
        assert_eq!(amount_per(u64::MAX, 3, &most, Form::Ascii), "18E calls");
    }

    #[test]
    fn only_all_is_100_and_only_nothing_is_0() {
        assert_eq!(percent(508, 1000), "50.8");
        assert_eq!(percent(1000, 1000), "100");
        assert_eq!(percent(99_999, 100_000), "99.9");
        assert_eq!(percent(1, 100_000), "<0.1");
        assert_eq!(percent(0, 100_000), "0");
        assert_eq!(percent(0, 0), "0");
        assert_eq!(percent(1012, 1000), "101.2");
    }

    #[test]
    fn shares_add_up_as_written() {
        assert_eq!(account(388, 612), "shown 38.8% + out 61.2% = 100%");
        assert_eq!(account(7, 0), "shown 100% + out 0% = 100%");
        assert_eq!(account(1, 99_999), "shown 0.1% + out 99.9% = 100%");
        assert_eq!(account(99_999, 1), "shown 99.9% + out 0.1% = 100%");
        assert_eq!(account(1, 2), "shown 33.3% + out 66.7% = 100%");
        assert_eq!(account(0, 0), "no samples");
    }
}
