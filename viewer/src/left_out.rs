//! What processes say of those that are not in the profile, and sums of it.

use core::fmt;
use std::collections::BTreeMap;

use csprof_format::arena::LeftOut;

/// Processes that are not in the profile for one reason, as messages tell of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LeftOutProcesses {
    number: u64,
    name: Option<Name>,
    reason: LeftOut,
}

/// The name of one of several processes.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Name {
    text: String,
    /// Of all of them it was started first.
    is_first: bool,
}

impl LeftOutProcesses {
    /// So many, of which the first was called so; empty if that is not known.
    #[must_use]
    pub(crate) fn new(number: u64, first: &str, reason: LeftOut) -> Self {
        let name = Name { text: first.to_owned(), is_first: true };
        Self { number, name: Some(name).filter(|name| !name.text.is_empty()), reason }
    }

    /// Reads such a message; `None` if it is another one.
    fn parse(message: &str) -> Option<Self> {
        let (number, rest) = message.split_once(' ')?;
        let number: u64 = number.parse().ok()?;
        let (_, rest) = rest.split_once(' ').filter(|(what, _)| what.starts_with("process"))?;
        let has_reason = |reason: &LeftOut| rest.ends_with(reason.explanation());
        let reason = LeftOut::ALL.into_iter().find(has_reason)?;
        let name = rest.strip_suffix(reason.explanation())?.trim_end();
        let name = name.strip_prefix('(').and_then(|name| name.strip_suffix(')'));
        let name = name.map(|name| {
            let among = name.strip_suffix(AMONG).filter(|_| number != 1);
            let text = among.or_else(|| name.strip_suffix(FIRST).filter(|_| number != 1));
            Name { text: text.unwrap_or(name).to_owned(), is_first: among.is_none() }
        });
        Some(Self { number, name, reason })
    }

    /// These and others, in whichever order.
    fn add(&mut self, other: Self) {
        self.number = self.number.saturating_add(other.number);
        let names = self.name.take().into_iter().chain(other.name).map(|name| name.text);
        self.name = names.min().map(|text| Name { text, is_first: false });
    }
}

const FIRST: &str = " first";
const AMONG: &str = " among them";

impl fmt::Display for LeftOutProcesses {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { number, name, reason } = self;
        write!(f, "{number} {}", if *number == 1 { "process" } else { "processes" })?;
        if let Some(Name { text, is_first }) = name {
            let which = match is_first {
                _ if *number == 1 => "",
                true => FIRST,
                false => AMONG,
            };
            write!(f, " ({text}{which})")?;
        }
        write!(f, " {}", reason.explanation())
    }
}

/// Messages of several processes: each once, with the number of processes that say it; what they
/// tell of processes that are not in the profile is added up. In the order of the first of each.
pub(crate) fn summed<'m>(messages: impl IntoIterator<Item = &'m str>) -> Vec<(String, usize)> {
    let mut places: BTreeMap<Key<'m>, usize> = BTreeMap::new();
    let mut told: Vec<(Told<'m>, usize)> = Vec::new();
    for message in messages {
        let told_now = match LeftOutProcesses::parse(message) {
            Some(processes) => Told::LeftOut(processes),
            None => Told::Else(message),
        };
        let key = match &told_now {
            Told::LeftOut(processes) => Key::LeftOut(processes.reason as usize),
            Told::Else(message) => Key::Else(message),
        };
        let place = *places.entry(key).or_insert(told.len());
        match (told.get_mut(place), told_now) {
            (None, told_now) => told.push((told_now, 1)),
            (Some((Told::LeftOut(sum), _)), Told::LeftOut(processes)) => sum.add(processes),
            (Some((_, number)), _) => *number += 1,
        }
    }
    let text = |told| match told {
        Told::LeftOut(processes) => processes.to_string(),
        Told::Else(message) => message.to_owned(),
    };
    told.into_iter().map(|(told, number)| (text(told), number)).collect()
}

/// A message.
enum Told<'m> {
    LeftOut(LeftOutProcesses),
    Else(&'m str),
}

/// What messages have in common of which one is shown.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Key<'m> {
    /// By the number of the reason.
    LeftOut(usize),
    Else(&'m str),
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(number: u64, name: &str, reason: LeftOut) -> String {
        LeftOutProcesses::new(number, name, reason).to_string()
    }

    #[test]
    fn messages_are_read_as_they_are_written() {
        for reason in LeftOut::ALL {
            for name in ["", "ls", "a (b) first", "x among them", ")"] {
                for number in [1, 2, u64::MAX] {
                    let written = LeftOutProcesses::new(number, name, reason);
                    assert_eq!(LeftOutProcesses::parse(&written.to_string()), Some(written));
                }
            }
        }
        for message in ["", "1", "1 process", "1 process started", "x processes started"] {
            assert_eq!(LeftOutProcesses::parse(message), None, "{message}");
        }
    }

    #[test]
    fn processes_that_are_left_out_are_added_up() {
        let (one, two) = (told(1, "ls", LeftOut::Static), told(2, "cat", LeftOut::Static));
        let (nameless, other) = (told(3, "", LeftOut::Static), told(1, "", LeftOut::Environment));
        let sum = |messages: &[&str]| summed(messages.iter().copied());
        let all = sum(&["said", &one, &other, &two, "said", &nameless]);
        let texts: Vec<&str> = all.iter().map(|(text, _)| &**text).collect();
        let in_all = format!("6 processes (cat among them) {}", LeftOut::Static.explanation());
        assert_eq!(texts, ["said", &in_all, &other]);
        assert_eq!(all.iter().map(|(_, number)| *number).collect::<Vec<_>>(), [2, 1, 1]);
        // In parts and in another order.
        let part = sum(&[&nameless, &two]);
        assert_eq!(sum(&[&part[0].0, &one])[0].0, in_all);
    }
}
