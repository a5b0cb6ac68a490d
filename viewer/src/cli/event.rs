//! `-e SOURCE[@AMOUNT]`: what to sample, and how often.
//!
//! Of a source of time, a bare number, or one with `Hz` or `kHz`, is a rate in samples per second
//! and thread; a number with `ns`, `us`, `ms` or `s` is the time between two samples. Of any other
//! source, the number is how much of it is counted from one sample to the next. `f` before a number
//! makes it a rate, of events that have one.

use csprof_format::launch::{
    Detail, Details, Label, MAX_PERIOD, MIN_PERIOD, SampleSource, SourceKind, Trigger, Unit,
};

use crate::launch::kernel_events::{self, Found, Machine, NotFound};
use crate::refine::{is_metric_word, nearest};
use crate::views::columns::Column;

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

/// What `record --help` says of `-e`, beyond a line.
pub(super) fn help() -> String {
    let offered = offered().map(SourceKind::properties);
    let counted: Vec<_> = offered.filter(|of| of.trigger == Trigger::Call).collect();
    let width = counted.iter().map(|of| of.name.len()).max().unwrap_or(0);
    let lines = counted.iter().map(|of| format!("  {:<width$}  {}\n", of.name, of.what));
    HELP.replace("COUNTED\n", &lines.collect::<String>())
}

/// With a line for those that count calls or what they are about.
const HELP: &str = "\
What triggers samples, with a rate (per second and thread) or a period: cputime@200, task-clock@1000, \
realtime@5ms, alloc@512K, page-faults@100; more than one by several -e

cputime counts CPU time, at most as fast as the kernel ticks (100 to 1000 times per second). task-clock \
counts CPU time at any rate, also on an overloaded machine, where perf events are allowed; it borrows \
SIGTRAP from programs that have no use for it. realtime counts elapsed time and so sees where threads \
wait; a sleep, or a wait for files, has its samples when it is over, and none if the program is killed \
meanwhile. Of what the program calls for, these count:

COUNTED

io is io-read, io-write and io-time. Any event of the kernel's or the processor's is a source, too \
(csprof events lists them): EVENT@N makes each N of them a sample, so cache-misses@10000 is one each \
10 000; cycles@f1000 about 1000 a second. Only what the program itself does counts; EVENT:k adds the \
kernel on its behalf, with its functions below the code that entered it. resource:NAME@N takes a sample \
of each N that the program counts itself by csprof.h (csprof header). Of several sources, each is a \
metric of the profile, and the first is the one that reports and the viewer begin with.";

/// What one `-e` asks for: a source, or all that go by one name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Asked(pub(super) Vec<SampleSource>);

/// Reads the argument of `-e`.
///
/// # Errors
///
/// A sentence that says what would be right.
pub(super) fn parse(text: &str) -> Result<Asked, String> {
    // An `@` among a unit's terms is theirs.
    let terms = text.rfind('/').map_or(0, |slash| slash + 1);
    let (name, amount) = match text[terms..].find('@') {
        Some(at) => (&text[..terms + at], Some(&text[terms + at + 1..])),
        None => (text, None),
    };
    let members: Vec<SourceKind> = SourceKind::of_group(name).collect();
    if !members.is_empty() {
        let names: Vec<&str> = members.iter().map(|kind| kind.name()).collect();
        return match amount {
            Some(_) => Err(format!("`{name}` is {}: give amounts to these", names.join(", "))),
            None => Ok(Asked(members.into_iter().map(SampleSource::of).collect())),
        };
    }
    let source = named(name)?;
    let period = match amount {
        Some(amount) if let Some(rate) = rate_in(amount) => rated(&source, rate)?,
        Some(amount) => period(source.kind.properties().unit, amount)?,
        None => source.period,
    };
    Ok(Asked(vec![source.every(period)]))
}

/// The number of `f1000`.
fn rate_in(amount: &str) -> Option<&str> {
    amount.strip_prefix('f').filter(|rate| rate.starts_with(|first: char| first.is_ascii_digit()))
}

/// The source of this name, with the period that it has where none is asked for.
fn named(name: &str) -> Result<SampleSource, String> {
    let is_it =
        |kind: &SourceKind| kind.name() == name && kind.properties().details == Details::None;
    if let Some(kind) = SourceKind::ALL.into_iter().find(is_it) {
        return Ok(SampleSource::of(kind));
    }
    if let Some(label) = name.strip_prefix("resource:") {
        check_label(label)?;
        // Stages and `--sort` mean something else by these.
        let mut columns = [false, true].into_iter().flat_map(Column::sortable);
        if is_metric_word(label) || columns.any(|(name, _)| name == label) {
            return Err(taken(label));
        }
        let label = Label::new(label).ok_or_else(|| {
            format!("`{label}` is no name of a resource: 1 to 48 graphic characters of ASCII")
        })?;
        let detail = Detail::Label(label);
        return Ok(SampleSource { detail, ..SampleSource::of(SourceKind::Resource) });
    }
    match kernel_events::find(&Machine::here(), name) {
        Ok(Found { event, period }) => {
            check_label(event.label.as_str())?;
            let detail = Detail::Event(event);
            Ok(SampleSource { detail, ..SampleSource::of(SourceKind::Event).every(period) })
        }
        Err(NotFound::Wrong(why)) => Err(why),
        Err(NotFound::Unknown { part, known }) => {
            Err(has_no_modifiers(name, &part).unwrap_or_else(|| unknown(name, &part, &known)))
        }
    }
}

/// Refuses a label that other sources, or units, are called.
fn check_label(label: &str) -> Result<(), String> {
    let units = [Unit::Nanoseconds, Unit::Calls, Unit::Bytes, Unit::Events, Unit::Units];
    let is_taken = is_own(label) || units.into_iter().any(|unit| unit.name() == label);
    if is_taken { Err(taken(label)) } else { Ok(()) }
}

/// Whether this is the name of one of csprof's own sources, or of a group of them.
fn is_own(name: &str) -> bool {
    let is_it = |kind: SourceKind| kind.name() == name || kind.properties().group == Some(name);
    SourceKind::ALL.into_iter().any(is_it)
}

fn taken(label: &str) -> String {
    format!("`{label}` is what csprof calls something else: choose another name")
}

/// The sources that help and errors name.
fn offered() -> impl Iterator<Item = SourceKind> {
    SourceKind::ALL.into_iter().filter(|kind| kind.properties().is_offered)
}

/// That there is no such source, with what is near.
fn unknown(name: &str, part: &str, known: &[String]) -> String {
    let offered: Vec<&str> = offered().map(SourceKind::name).collect();
    let is_part = part != name;
    let own = offered.iter().copied().filter(|_| !is_part);
    let near = nearest(part, own.chain(known.iter().map(String::as_str)));
    let near: Vec<String> = near.iter().map(|name| format!("`{name}`")).collect();
    let of = if is_part { format!(" (of `{name}`)") } else { String::new() };
    match near.as_slice() {
        [] => format!(
            "there is no sample source `{part}`{of}; there are {}, and events of the kernel and the \
             processor: csprof events lists them",
            offered.join(", ")
        ),
        _ => format!(
            "there is no sample source `{part}`{of}; near: {}; csprof events lists all",
            near.join(", ")
        ),
    }
}

/// That one of csprof's own sources, or a group of them, has nothing behind its name.
fn has_no_modifiers(name: &str, part: &str) -> Option<String> {
    (part != name && is_own(part)).then(|| {
        format!(
            "`{name}`: `{part}` is a source of csprof's own, which takes no modifiers; write `{part}` \
             (:u and :k are for events of the kernel and the processor)"
        )
    })
}

/// The period by which an event comes to so many samples a second of a busy thread.
fn rated(source: &SampleSource, rate: &str) -> Result<u64, String> {
    let Detail::Event(event) = source.detail else {
        return match source.kind.properties().unit {
            Unit::Nanoseconds if rate.chars().all(|of| of.is_ascii_digit() || of == '.') => {
                timed(rate)
            }
            Unit::Nanoseconds => {
                Err(format!("`f{rate}` is no rate: f and samples per second, such as f200"))
            }
            _ => Err(format!("`f{rate}`: a rate is for clocks; {} is counted", source.name())),
        };
    };
    let name = event.label.as_str();
    let per_s = kernel_events::events_per_s(&event).ok_or_else(|| {
        format!(
            "`f{rate}`: how often {name} happens is not known before the program runs; say each how \
             many are a sample: {name}@{}",
            source.period
        )
    })?;
    let asked = rate.parse().ok().filter(|rate: &f64| (0.1..=100_000.0).contains(rate));
    let asked = asked.ok_or_else(|| {
        format!("`f{rate}` is no rate: f and samples per second, from f0.1 to f100000")
    })?;
    // Round numbers are easier to read.
    let digits = 10f64.powf((per_s / asked).log10().floor() - 2.0).max(1.0);
    let period = ((per_s / asked / digits).round() * digits) as u64;
    let periods = Unit::Events.periods();
    Ok(period.clamp(*periods.start(), *periods.end()))
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
    let end = amount.find(|of: char| !of.is_ascii_digit()).unwrap_or(amount.len());
    let digits = &amount[..end];
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
            ("alloc", "alloc:524288"),
            ("alloc@1M", "alloc:1048576"),
            ("alloc-calls@10", "alloc-calls:10"),
            ("leak@64k", "leak:65536"),
            ("io", "io-read:65536"),
            ("io-read@4k", "io-read:4096"),
            ("lock", "lock:1000000"),
            ("io-time@100us", "io-time:100000"),
            ("resource:rows", "resource:1000:rows"),
            ("faults", "event:100:1.2.0.0.0.0:page-faults"),
            ("page-faults:k@3K", "event:3000:1.2.0.0.2.0:page-faults:k"),
            ("cs@1", "event:1:1.3.0.0.1.0:context-switches"),
            ("cycles:pp@2M", "event:2000000:0.0.0.0.0.2:cycles:pp"),
            ("cputime@f200", "cputime:5000000"),
            ("resource:rows:read@3M", "resource:3000000:rows:read"),
        ] {
            let asked = parse(text).map(|Asked(sources)| sources[0].to_string());
            assert_eq!(asked, Ok(expected.into()), "{text}");
        }
    }

    #[test]
    fn who_names_no_source_is_told_of_all() {
        for name in ["sunlight", ""] {
            let error = parse(name).unwrap_err();
            let rest =
                error.strip_prefix(&format!("there is no sample source `{name}`; there are "));
            let names = rest.and_then(|rest| {
                rest.strip_suffix(
                    ", and events of the kernel and the processor: csprof events lists them",
                )
            });
            let names: Vec<&str> = names.unwrap_or(&error).split(", ").collect();
            assert_eq!(names, offered().map(SourceKind::name).collect::<Vec<_>>());
            assert!(names.contains(&"mpi-bytes") && !names.contains(&"yields"), "{error}");
        }
    }

    #[test]
    fn errors_say_what_would_be_right() {
        for (text, expected) in [
            (
                "cycels",
                "there is no sample source `cycels`; near: `cycles`; csprof events lists all",
            ),
            (
                "alloc:k@4K",
                "`alloc:k`: `alloc` is a source of csprof's own, which takes no modifiers; write \
                 `alloc` (:u and :k are for events of the kernel and the processor)",
            ),
            (
                "io:u",
                "`io:u`: `io` is a source of csprof's own, which takes no modifiers; write `io` (:u \
                 and :k are for events of the kernel and the processor)",
            ),
            ("page-faults@0", "`0` is not a number of events from 1 to 10000000000"),
            ("page-faults@5ms", "`5ms` is not a number of events from 1 to 10000000000"),
            (
                "page-faults@f100",
                "`f100`: how often page-faults happens is not known before the program runs; say \
                 each how many are a sample: page-faults@100",
            ),
            ("yields@f7", "`f7`: a rate is for clocks; yields is counted"),
            (
                "context-switches:u",
                "the kernel alone has context-switches: without `u` they are counted",
            ),
            ("alloc@0", "`0` is not a number of bytes (512K; units K M G) from 1 to 10000000000"),
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
            ("alloc@+5", "`+5` is not a number of bytes (512K; units K M G) from 1 to 10000000000"),
            ("cputime@f5ms", "`f5ms` is no rate: f and samples per second, such as f200"),
            ("resource:bytes", "`bytes` is what csprof calls something else: choose another name"),
            (
                "resource:samples",
                "`samples` is what csprof calls something else: choose another name",
            ),
            ("resource:excl", "`excl` is what csprof calls something else: choose another name"),
            ("resource:delta", "`delta` is what csprof calls something else: choose another name"),
            ("resource:io", "`io` is what csprof calls something else: choose another name"),
            ("resource:lock", "`lock` is what csprof calls something else: choose another name"),
            ("io@4k", "`io` is io-read, io-write, io-time: give amounts to these"),
            ("yields@0", "`0` is not a number of calls from 1 to 10000000000"),
            ("yields@5ms", "`5ms` is not a number of calls from 1 to 10000000000"),
        ] {
            assert_eq!(parse(text), Err(expected.into()), "{text}");
        }
    }
}
