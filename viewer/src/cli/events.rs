//! `csprof events`

use std::io::Write;
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::{Args, ValueEnum};
use csprof_format::launch::{Details, SourceKind, Unit};
use serde::Serialize;

use super::exit_code;
use crate::launch::kernel_events::{Group, Listed, Machine, list, why_no_tracepoints};
use crate::print;

const EXAMPLES: &str = "\
What is listed is what `csprof record -e` takes: EVENT@N makes each N events a sample, and what stands \
behind an event here as @N is the number where none is asked for. Behind a colon, k counts what \
happens in the kernel, too, with the kernel's functions below the code that entered it, and p, pp and ppp ask the processor for exact places: instructions:k, \
cycles:pp. rNNNN is an event of the processor by its number in hexadecimal, and UNIT/TERM=N,.../ one \
in the words of its unit; name=NAME among the terms is what the profile calls it.

Examples:
  csprof events
  csprof events cache               those with `cache` in their names
  csprof events 'sched:*'           tracepoints
  csprof record -e cputime -e cache-misses@10000 ./solver input";

/// List what can be sampled on this machine, and why the rest cannot
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Events {
    /// Part of the names to list, or a pattern with `*`
    #[arg(value_name = "PATTERN")]
    pattern: Option<String>,
    /// Form of the output
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Format {
    /// A page for people
    Text,
    /// An array with an object for each
    Json,
}

/// A line of the list.
#[derive(Debug, Serialize)]
struct Line {
    group: &'static str,
    name: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    other_names: Vec<String>,
    what: String,
    /// In `unit`.
    default_period: u64,
    unit: &'static str,
    available: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    why_not: Option<String>,
}

const OWN: &str = "csprof's own sources";
const TRACEPOINTS: &str = "tracepoints";

/// What groups are called, in their order.
const GROUPS: [&str; 6] =
    [OWN, "software", "hardware", "caches", "units of this machine", TRACEPOINTS];

impl Events {
    /// Prints the list.
    ///
    /// # Errors
    ///
    /// When the output fails.
    pub fn run(&self) -> Result<ExitCode> {
        let machine = Machine::here();
        let mut lines: Vec<Line> = own().chain(list(&machine).into_iter().map(line)).collect();
        if let Some(pattern) = &self.pattern {
            lines.retain(|line| {
                let mut names = line.other_names.iter().chain([&line.name]);
                names.any(|name| is_like(name, pattern))
            });
        }
        match self.format {
            Format::Json => {
                let mut out = print::output(print::Escaping::Json);
                serde_json::to_writer_pretty(&mut out, &lines).context(print::CANNOT_PRINT)?;
                writeln!(out).and_then(|()| out.flush()).context(print::CANNOT_PRINT)?;
            }
            Format::Text => {
                let mut out = print::output(print::Escaping::Text);
                let missing = why_no_tracepoints(&machine);
                self.text(&lines, missing.as_deref(), &mut out)
                    .and_then(|()| out.flush())
                    .context(print::CANNOT_PRINT)?;
            }
        }
        Ok(exit_code::DONE)
    }

    /// Whether tracepoints may be meant: their names have a colon.
    fn may_be_tracepoint(&self, lines: &[Line]) -> bool {
        lines.is_empty() || self.pattern.as_deref().is_none_or(|pattern| pattern.contains(':'))
    }

    fn text(
        &self,
        lines: &[Line],
        no_tracepoints: Option<&str>,
        out: &mut impl Write,
    ) -> std::io::Result<()> {
        if let (Some(pattern), []) = (&self.pattern, lines) {
            writeln!(out, "no event has a name like `{pattern}`; csprof events lists all")?;
        }
        let mut is_first = true;
        for group in GROUPS {
            let of_group: Vec<&Line> = lines.iter().filter(|line| line.group == group).collect();
            let told =
                no_tracepoints.filter(|_| group == TRACEPOINTS && self.may_be_tracepoint(lines));
            if of_group.is_empty() && told.is_none() {
                continue;
            }
            if !is_first {
                writeln!(out)?;
            }
            is_first = false;
            write_group(group, &of_group, told, self.pattern.is_none(), out)?;
        }
        Ok(())
    }
}

fn write_group(
    group: &str,
    lines: &[&Line],
    told: Option<&str>,
    all: bool,
    out: &mut impl Write,
) -> std::io::Result<()> {
    let first = lines.first().and_then(|line| line.why_not.as_deref());
    let common = first.filter(|why| lines.iter().all(|line| line.why_not.as_deref() == Some(*why)));
    match told.or(common) {
        Some(why) => writeln!(out, "{group}: not to be had: {why}")?,
        None => writeln!(out, "{group}")?,
    }
    if group == TRACEPOINTS && all {
        let number = lines.len();
        if number > 0 {
            writeln!(out, "  {number}; csprof events 'sched:*' lists those of a subsystem")?;
        }
        return Ok(());
    }
    // What they would count, nobody can use here; a pattern shows it.
    if common.is_some() && all {
        let names: Vec<&str> = lines.iter().map(|line| line.name.as_str()).collect();
        return write_wrapped(&names, out);
    }
    let named = |line: &Line| {
        let others: String = line.other_names.iter().map(|name| format!(", {name}")).collect();
        format!("{}{others}", line.name)
    };
    let width = lines.iter().map(|line| named(line).len()).max().unwrap_or(0).min(44);
    for line in lines {
        let period = match line.unit {
            "ns" => format!("{} ms", line.default_period as f64 / 1e6),
            _ => format!("@{}", line.default_period),
        };
        write!(out, "  {:<width$}  {period:>9}  {}", named(line), line.what)?;
        match line.why_not.as_deref().filter(|_| common.is_none()) {
            Some(why) => writeln!(out, "; not to be had: {why}")?,
            None => writeln!(out)?,
        }
    }
    Ok(())
}

/// Names in lines of some width.
fn write_wrapped(names: &[&str], out: &mut impl Write) -> std::io::Result<()> {
    const WIDTH: usize = 78;
    let mut line = String::new();
    for (number, name) in names.iter().enumerate() {
        let end = if number + 1 < names.len() { "," } else { "" };
        if !line.is_empty() && line.len() + name.len() + end.len() > WIDTH {
            writeln!(out, " {line}")?;
            line.clear();
        }
        line.push_str(&format!(" {name}{end}"));
    }
    writeln!(out, " {line}")
}

/// Those that need no event of the kernel's of a name.
fn own() -> impl Iterator<Item = Line> {
    let is_listed = |kind: &SourceKind| {
        let properties = kind.properties();
        properties.is_offered || properties.details == Details::Label
    };
    let listed = SourceKind::ALL.into_iter().filter(is_listed);
    listed.map(|kind| {
        let properties = kind.properties();
        let name = match properties.details {
            Details::None | Details::Event => kind.name().to_owned(),
            Details::Label => format!("{}:NAME", kind.name()),
        };
        Line {
            group: OWN,
            name,
            other_names: Vec::new(),
            what: properties.what.to_owned(),
            default_period: properties.default_period,
            unit: properties.unit.name(),
            available: true,
            why_not: None,
        }
    })
}

fn line(listed: Listed) -> Line {
    let [_, software, hardware, caches, units, tracepoints] = GROUPS;
    Line {
        group: match listed.group {
            Group::Software => software,
            Group::Hardware => hardware,
            Group::Cache => caches,
            Group::Unit => units,
            Group::Tracepoint => tracepoints,
        },
        name: listed.name,
        other_names: listed.other_names,
        what: listed.what,
        default_period: listed.period,
        unit: Unit::Events.name(),
        available: listed.missing.is_none(),
        why_not: listed.missing,
    }
}

/// Whether a name contains the pattern, or, where that has `*`, is like it.
fn is_like(name: &str, pattern: &str) -> bool {
    let (name, pattern) = (name.to_ascii_lowercase(), pattern.to_ascii_lowercase());
    let Some((start, rest)) = pattern.split_once('*') else { return name.contains(&pattern) };
    let Some(mut left) = name.strip_prefix(start) else { return false };
    let mut parts = rest.split('*').peekable();
    while let Some(part) = parts.next() {
        if parts.peek().is_none() {
            return left.ends_with(part);
        }
        let Some(at) = left.find(part) else { return false };
        left = &left[at + part.len()..];
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_are_parts_or_whole() {
        for (name, pattern, expected) in [
            ("cache-misses", "CACHE", true),
            ("cache-misses", "cache*", true),
            ("L1-dcache-loads", "cache*", false),
            ("L1-dcache-loads", "*cache*loads", true),
            ("sched:sched_switch", "sched:*", true),
            ("sched:sched_switch", "sched:*wake*", false),
            ("ab", "ab*b", false),
        ] {
            assert_eq!(is_like(name, pattern), expected, "{name} {pattern}");
        }
    }

    fn shown(pattern: Option<&str>, lines: &[Line]) -> String {
        let events = Events { pattern: pattern.map(str::to_owned), format: Format::Text };
        let mut out = Vec::new();
        events.text(lines, Some("no tracefs"), &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn what_all_of_a_group_miss_is_said_once() {
        let event = |name: &str, group, why_not: Option<&str>| Line {
            group,
            name: name.to_owned(),
            other_names: Vec::new(),
            what: "what it counts".to_owned(),
            default_period: 100,
            unit: "events",
            available: why_not.is_none(),
            why_not: why_not.map(str::to_owned),
        };
        let lines = [
            event("page-faults", "software", None),
            event("migrations", "software", Some("forbidden")),
            event("cycles", "hardware", Some("no counters")),
            event("instructions", "hardware", Some("no counters")),
        ];
        assert_eq!(
            shown(None, &lines),
            "software\n\
             \x20 page-faults       @100  what it counts\n\
             \x20 migrations        @100  what it counts; not to be had: forbidden\n\
             \n\
             hardware: not to be had: no counters\n\
             \x20 cycles, instructions\n\
             \n\
             tracepoints: not to be had: no tracefs\n"
        );
        assert_eq!(
            shown(Some("sched:*"), &[]),
            "no event has a name like `sched:*`; csprof events lists all\n\
             tracepoints: not to be had: no tracefs\n"
        );
        assert!(!shown(Some("page"), &lines[..1]).contains("tracefs"));
    }
}
