//! Events of the kernel's and the processor's by name: which there are, and what perf_event_open(2)
//! calls them.
//!
//! ```text
//! names      events with names of their own      machine    units and tracepoints of this machine
//! attempt    whether the kernel would count one, and why not
//! ```

mod attempt;
mod machine;
mod names;

use csprof_format::launch::{KernelEvent, LABEL_BYTES, Label, Unit};

use self::machine::BadTerm;
pub use self::machine::Machine;
use self::names::{CACHE, NAMED, Named, RAW, SOFTWARE, TRACEPOINT, of_caches};

/// An event, and how many there are from one sample to the next where no number is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Found {
    /// What the kernel is asked for.
    pub event: KernelEvent,
    /// Events.
    pub period: u64,
}

/// Why there is no event of a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotFound {
    /// There is none; these there are, in the place of the part of its name that is wrong.
    Unknown {
        /// The part.
        part: String,
        /// What could stand there.
        known: Vec<String>,
    },
    /// What is wrong with it.
    Wrong(String),
}

/// An event in a list.
#[derive(Clone, Debug)]
pub struct Listed {
    /// What it is one of.
    pub group: Group,
    /// What `-e` calls it.
    pub name: String,
    /// Other names.
    pub other_names: Vec<String>,
    /// What it counts.
    pub what: String,
    /// Events from one sample to the next where no number is asked for.
    pub period: u64,
    /// Why it is not to be had here; `None` if it is.
    pub missing: Option<String>,
}

/// What events are of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Group {
    /// The kernel.
    Software,
    /// The processor.
    Hardware,
    /// Its caches.
    Cache,
    /// A unit that the kernel names, with its words.
    Unit,
    /// A place in the kernel.
    Tracepoint,
}

/// Every so many events of a kind of which nothing is known.
const PERIOD: u64 = 1_000_000;

/// What stands behind the name: whose events count, and how exact.
#[derive(Clone, Copy, Debug, Default)]
struct Modifiers {
    user: bool,
    kernel: bool,
    precise: u8,
}

impl Modifiers {
    /// `u`, `k` and up to three `p`; `None` for anything else.
    fn parse(text: &str) -> Option<Self> {
        let mut modifiers = Self::default();
        for letter in text.bytes() {
            match letter {
                b'u' => modifiers.user = true,
                b'k' => modifiers.kernel = true,
                b'p' => modifiers.precise += 1,
                _ => return None,
            }
            if modifiers.precise > 3 {
                return None;
            }
        }
        (!text.is_empty()).then_some(modifiers)
    }
}

/// What a name stands for before modifiers.
struct Base {
    label: String,
    pmu: u32,
    config: [u64; 3],
    period: u64,
    in_kernel: bool,
}

impl From<&Named> for Base {
    fn from(named: &Named) -> Self {
        Self {
            label: named.name().to_owned(),
            pmu: named.pmu,
            config: [named.config, 0, 0],
            period: named.period,
            in_kernel: named.in_kernel,
        }
    }
}

/// The event of this name: `cycles`, `page-faults:k`, `r01c2`, `cpu/event=0x3c,umask=1/`,
/// `sched:sched_switch`.
///
/// # Errors
///
/// Says why there is none.
pub fn find(machine: &Machine, name: &str) -> Result<Found, NotFound> {
    let parts = name.rsplit_once(':').and_then(|(base, text)| {
        // A modifier belongs behind a unit's terms, or behind another name.
        let parsed = Modifiers::parse(text).filter(|_| !text.contains('/'));
        Some((base, parsed?))
    });
    match parts {
        Some((base, modifiers)) => with(base_of(machine, base)?, modifiers),
        None => with(base_of(machine, name)?, Modifiers::default()),
    }
}

fn with(base: Base, modifiers: Modifiers) -> Result<Found, NotFound> {
    let Base { mut label, pmu, config, period, in_kernel } = base;
    if in_kernel && modifiers.user && !modifiers.kernel {
        let cause = format!("the kernel alone has {label}: without `u` they are counted");
        return Err(NotFound::Wrong(cause));
    }
    let shows_kernel = modifiers.kernel;
    let shown =
        format!("{}{}", if shows_kernel { "k" } else { "" }, "p".repeat(modifiers.precise.into()));
    if !shown.is_empty() {
        label = format!("{label}:{shown}");
    }
    let label = Label::new(&label).ok_or_else(|| {
        NotFound::Wrong(format!(
            "`{label}` is too long for the name of a metric ({LABEL_BYTES} graphic characters of \
             ASCII); name=… among a unit's terms gives it another"
        ))
    })?;
    let kernel = in_kernel || modifiers.kernel;
    let precise = modifiers.precise;
    let event = KernelEvent { label, pmu, config, kernel, shows_kernel, precise };
    Ok(Found { event, period })
}

fn base_of(machine: &Machine, name: &str) -> Result<Base, NotFound> {
    if let Some(named) = NAMED.iter().find(|named| named.names.contains(&name)) {
        return Ok(named.into());
    }
    if let Some(cache) = of_caches().find(|cache| cache.name.eq_ignore_ascii_case(name)) {
        let (config, period) = ([cache.config, 0, 0], cache.period);
        return Ok(Base { label: cache.name, pmu: CACHE, config, period, in_kernel: false });
    }
    if let Some((unit, terms)) = name.split_once('/') {
        return of_unit(machine, name, unit, terms);
    }
    if let Some((system, point)) = name.split_once(':') {
        return of_tracepoint(machine, system, point);
    }
    let raw = name.strip_prefix('r').filter(|digits| (1..=16).contains(&digits.len()));
    if let Some(config) = raw.and_then(|digits| u64::from_str_radix(digits, 16).ok()) {
        let pmu = machine.unit("cpu").unwrap_or(RAW);
        let (label, config) = (name.to_owned(), [config, 0, 0]);
        return Ok(Base { label, pmu, config, period: PERIOD, in_kernel: false });
    }
    Err(NotFound::Unknown { part: name.to_owned(), known: known(machine) })
}

/// Names that need no others around them.
fn known(machine: &Machine) -> Vec<String> {
    let named = NAMED.iter().flat_map(|named| named.names).map(|&name| name.to_owned());
    let units = machine.units();
    let of_units = units.iter().flat_map(|unit| {
        machine.events_of(unit).into_iter().map(move |event| format!("{unit}/{event}/"))
    });
    named.chain(of_caches().map(|cache| cache.name)).chain(of_units).collect()
}

fn of_unit(machine: &Machine, name: &str, unit: &str, terms: &str) -> Result<Base, NotFound> {
    let Some(text) = terms.strip_suffix('/').filter(|text| !text.contains('/')) else {
        let cause = format!("`{name}`: a unit's terms stand between two slashes: {unit}/…/");
        return Err(NotFound::Wrong(cause));
    };
    let Some(pmu) = machine.unit(unit) else {
        if unit == "cpu" && !machine.has_counters() {
            return Err(NotFound::Wrong(format!("`{name}`: {}", attempt::NO_COUNTERS)));
        }
        return Err(NotFound::Unknown { part: unit.to_owned(), known: machine.units() });
    };
    let terms = machine.terms(unit, text).map_err(|bad| match bad {
        BadTerm::Unknown(part) => {
            let words = machine.terms_of(unit).into_iter().chain(machine.events_of(unit));
            NotFound::Unknown { part, known: words.collect() }
        }
        BadTerm::Value(word) => NotFound::Wrong(format!(
            "`{word}` of `{name}`: no number, in decimal or behind 0x, that the unit has room for"
        )),
    })?;
    let period = terms.period.unwrap_or(PERIOD);
    if !Unit::Events.periods().contains(&period) {
        return Err(NotFound::Wrong(format!("`{name}`: a period is a number from 1")));
    }
    let label = text.split(',').find_map(|word| word.strip_prefix("name="));
    let label = label.unwrap_or(name).to_owned();
    Ok(Base { label, pmu, config: terms.config, period, in_kernel: false })
}

fn of_tracepoint(machine: &Machine, system: &str, point: &str) -> Result<Base, NotFound> {
    let name = format!("{system}:{point}");
    if let Some(number) = machine.tracepoint(system, point) {
        let config = [number, 0, 0];
        return Ok(Base { label: name, pmu: TRACEPOINT, config, period: 1, in_kernel: true });
    }
    match machine.why_no_tracepoints() {
        Some(why) => Err(NotFound::Wrong(format!("`{name}` would be a tracepoint, but {why}"))),
        None => Err(NotFound::Unknown { part: name, known: machine.tracepoints() }),
    }
}

/// Why the kernel would not count the event for a program that is started now.
///
/// # Errors
///
/// Says so, and what permits it.
pub fn check(machine: &Machine, event: &KernelEvent, period: u64) -> Result<(), String> {
    attempt::attempt(event, period).map_err(|error| attempt::why(machine, event, &error))
}

/// How many a busy processor has in a second at most, of events that are cycles of a clock.
#[must_use]
pub fn events_per_s(event: &KernelEvent) -> Option<f64> {
    let is_clock = NAMED.iter().any(|named| {
        let is_it = named.pmu == event.pmu && named.config == event.config[0];
        is_it && matches!(named.name(), "cycles" | "ref-cycles")
    });
    is_clock.then(machine::clock_hz).flatten()
}

/// All events with names, in groups.
#[must_use]
pub fn list(machine: &Machine) -> Vec<Listed> {
    let missing = |name: &str| match find(machine, name) {
        Ok(Found { event, period }) => check(machine, &event, period).err(),
        Err(NotFound::Wrong(why)) => Some(why),
        Err(NotFound::Unknown { .. }) => Some("there is no such event".to_owned()),
    };
    let mut listed: Vec<Listed> = NAMED
        .iter()
        .map(|named| Listed {
            group: if named.pmu == SOFTWARE { Group::Software } else { Group::Hardware },
            name: named.name().to_owned(),
            other_names: named.names.iter().skip(1).map(|&name| name.to_owned()).collect(),
            what: named.what.to_owned(),
            period: named.period,
            missing: missing(named.name()),
        })
        .collect();
    listed.extend(of_caches().map(|cache| Listed {
        group: Group::Cache,
        other_names: Vec::new(),
        what: cache.what,
        period: cache.period,
        missing: missing(&cache.name),
        name: cache.name,
    }));
    for unit in machine.units() {
        let words = machine.terms_of(&unit).join(", ");
        listed.extend(machine.events_of(&unit).into_iter().map(|event| {
            let name = format!("{unit}/{event}/");
            Listed {
                group: Group::Unit,
                other_names: Vec::new(),
                what: format!("event of the unit {unit}, whose words are {words}"),
                period: PERIOD,
                missing: missing(&name),
                name,
            }
        }));
    }
    let points = machine.tracepoints();
    // To ask for one costs the kernel more than for others, and what is said of one is said of all.
    let of_first = points.first().and_then(|name| missing(name));
    listed.extend(points.into_iter().map(|name| Listed {
        group: Group::Tracepoint,
        other_names: Vec::new(),
        what: "a place in the kernel".to_owned(),
        period: 1,
        missing: of_first.clone(),
        name,
    }));
    listed
}

/// Why no tracepoints are listed, where none are.
#[must_use]
pub fn why_no_tracepoints(machine: &Machine) -> Option<String> {
    machine.why_no_tracepoints()
}

#[cfg(test)]
mod tests;
