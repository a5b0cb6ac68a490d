//! What the kernel says of this machine's events: the units that count, the words in which each is
//! asked for, and tracepoints.

use std::fs;
use std::path::{Path, PathBuf};

/// Folders in which the kernel says it.
#[derive(Clone, Debug)]
pub struct Machine {
    devices: PathBuf,
    tracing: Vec<PathBuf>,
}

/// Numbers that a unit is asked by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Terms {
    pub(super) config: [u64; 3],
    /// What was asked for as the period.
    pub(super) period: Option<u64>,
}

/// Why terms mean nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum BadTerm {
    /// There is no such term.
    Unknown(String),
    /// Its value is none, or there is no room for it.
    Value(String),
}

impl Machine {
    /// This one.
    #[must_use]
    pub fn here() -> Self {
        Self::at(
            "/sys/bus/event_source/devices".into(),
            vec!["/sys/kernel/tracing/events".into(), "/sys/kernel/debug/tracing/events".into()],
        )
    }

    /// One that says so elsewhere.
    #[must_use]
    pub const fn at(devices: PathBuf, tracing: Vec<PathBuf>) -> Self {
        Self { devices, tracing }
    }

    /// The units, in the order of their names.
    pub(super) fn units(&self) -> Vec<String> {
        names_in(&self.devices)
    }

    /// The number of a unit.
    pub(super) fn unit(&self, name: &str) -> Option<u32> {
        is_name(name).then_some(())?;
        read(&self.devices.join(name).join("type"))?.parse().ok()
    }

    /// Whether the processor has counters.
    pub(super) fn has_counters(&self) -> bool {
        self.units().iter().any(|unit| unit.starts_with("cpu"))
    }

    /// The events that a unit has names for.
    pub(super) fn events_of(&self, unit: &str) -> Vec<String> {
        let mut names = names_in(&self.devices.join(unit).join("events"));
        // `cycles.unit` and the like say what to make of a count.
        names.retain(|name| !name.contains('.'));
        names
    }

    /// The words in which a unit may be asked.
    pub(super) fn terms_of(&self, unit: &str) -> Vec<String> {
        names_in(&self.devices.join(unit).join("format"))
    }

    /// Reads `event=0x3c,umask=1`; a name of an event stands for its terms.
    pub(super) fn terms(&self, unit: &str, text: &str) -> Result<Terms, BadTerm> {
        let mut terms = Terms::default();
        for word in text.split(',').filter(|word| !word.is_empty() && !word.starts_with("name=")) {
            self.term(unit, word, &mut terms, true)?;
        }
        Ok(terms)
    }

    fn term(&self, unit: &str, word: &str, to: &mut Terms, by_name: bool) -> Result<(), BadTerm> {
        let (name, value) = match word.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (word, None),
        };
        let number = match value {
            Some(value) => number(value).ok_or_else(|| BadTerm::Value(word.to_owned()))?,
            None => 1,
        };
        let fields = ["config", "config1", "config2"];
        if let Some(place) = fields.iter().position(|field| *field == name) {
            to.config[place] |= number;
            return Ok(());
        }
        if name == "period" {
            to.period = Some(number);
            return Ok(());
        }
        let unknown = || BadTerm::Unknown(name.to_owned());
        if !is_name(name) {
            return Err(unknown());
        }
        let folder = self.devices.join(unit);
        if let Some(format) = read(&folder.join("format").join(name)) {
            let (field, bits) = format.split_once(':').ok_or_else(unknown)?;
            let place = fields.iter().position(|known| *known == field).ok_or_else(unknown)?;
            let spread = spread(number, bits).ok_or_else(|| BadTerm::Value(word.to_owned()))?;
            to.config[place] |= spread;
            return Ok(());
        }
        let event = read(&folder.join("events").join(name)).filter(|_| by_name && value.is_none());
        event
            .ok_or_else(unknown)?
            .split(',')
            .try_for_each(|word| self.term(unit, word.trim(), to, false))
    }

    /// The number of a tracepoint.
    pub(super) fn tracepoint(&self, system: &str, name: &str) -> Option<u64> {
        (is_name(system) && is_name(name)).then_some(())?;
        let place = |folder: &PathBuf| read(&folder.join(system).join(name).join("id"));
        self.tracing.iter().find_map(place)?.parse().ok()
    }

    /// All tracepoints, as `subsystem:name`; none where they cannot be read.
    pub(super) fn tracepoints(&self) -> Vec<String> {
        let Some(folder) = self.tracing.iter().find(|folder| !names_in(folder).is_empty()) else {
            return Vec::new();
        };
        let of = |system: String| {
            let names = names_in(&folder.join(&system));
            let readable = names
                .into_iter()
                .filter(|name| folder.join(&system).join(name).join("id").is_file());
            readable.map(|name| format!("{system}:{name}")).collect::<Vec<_>>()
        };
        names_in(folder).into_iter().flat_map(of).collect()
    }

    /// Why there are none.
    pub(super) fn why_no_tracepoints(&self) -> Option<String> {
        let folder = self.tracing.first()?;
        match fs::read_dir(folder) {
            Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => {
                Some(format!("{} may be read by its owner alone, as a rule root", folder.display()))
            }
            Err(_) => Some(format!(
                "{} is not there; root mounts it: mount -t tracefs tracefs /sys/kernel/tracing",
                folder.display()
            )),
            Ok(_) => None,
        }
    }
}

/// The highest clock rate of the first processor, in cycles per second.
pub(super) fn clock_hz() -> Option<f64> {
    let most = read(Path::new("/sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq"));
    let of_folder = most.and_then(|khz| Some(khz.parse::<f64>().ok()? * 1e3));
    let of_list = || {
        let list = fs::read_to_string("/proc/cpuinfo").ok()?;
        let line = list.lines().find(|line| line.starts_with("cpu MHz"))?;
        Some(line.split_once(':')?.1.trim().parse::<f64>().ok()? * 1e6)
    };
    of_folder.or_else(of_list).filter(|hz| *hz > 0.0)
}

/// Whether it can be one file's name, and no path.
fn is_name(name: &str) -> bool {
    !name.is_empty() && !name.starts_with('.') && !name.contains('/')
}

fn read(path: &Path) -> Option<String> {
    Some(fs::read_to_string(path).ok()?.trim().to_owned())
}

fn names_in(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<String> =
        entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.sort_unstable();
    names
}

/// A number in decimal or, behind `0x`, in hexadecimal.
fn number(text: &str) -> Option<u64> {
    let lower = text.to_ascii_lowercase();
    match lower.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => lower.parse().ok(),
    }
}

/// The low bits of a number in these bits of a word: `0-7,32-35`. `None` if it has more.
fn spread(number: u64, bits: &str) -> Option<u64> {
    let (mut left, mut word) = (number, 0u64);
    for range in bits.split(',') {
        let (low, high) = range.split_once('-').unwrap_or((range, range));
        let (low, high): (u32, u32) = (low.parse().ok()?, high.parse().ok()?);
        let width = high.checked_sub(low)?.checked_add(1).filter(|_| high < u64::BITS)?;
        let mask = u64::MAX >> (u64::BITS - width);
        word |= (left & mask) << low;
        left = left.checked_shr(width).unwrap_or(0);
    }
    (left == 0).then_some(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_are_spread_over_their_ranges() {
        assert_eq!(spread(0x1a5, "0-7,32-35"), Some(0x1_0000_00a5));
        assert_eq!(spread(0x10a5, "0-7,32-35"), None);
        assert_eq!(spread(1, "18"), Some(1 << 18));
        assert_eq!(spread(2, "18"), None);
        assert_eq!(spread(u64::MAX, "0-63"), Some(u64::MAX));
        assert_eq!([spread(0, "7-0"), spread(0, "0-64"), spread(0, "x")], [None; 3]);
    }
}
