//! Processes and threads with their imbalance: [`views::contexts`](crate::views::contexts) as
//! text, JSON and CSV.
//!
//! Text lists threads where a process has several; machines get every thread. Of [`Options`] the
//! measure, the depth (1: processes alone), the limits and what percentages are of count here.

use std::io::{self, Write};

use serde::Serialize;

use super::csv::of_output;
use super::json::{heading, write_with_rows};
use super::listing::Limits;
use super::text::{LONG_COMMAND, account_for, cut, dots};
use super::{Measure, Options};
use crate::refine::Refined;
use crate::views::contexts::{Context, Program, all_contexts, contexts, programs};
use crate::views::number::{Form, amount, count, counted, percent};
use crate::views::printable::{command_line, printable};

/// Names of the columns.
pub const COLUMNS: [&str; 9] =
    ["depth", "kind", "name", "rank", "pid", "tid", "stage", "inclusive", "imbalance"];

/// The rows that are wanted, in the order of the list, and how many are left out for being small,
/// and for coming late.
fn wanted(refined: &Refined<'_>, list: Vec<Context>, limits: Limits) -> (Vec<Context>, [usize; 2]) {
    let least = limits.cost(refined);
    let mut left_out = [0; 2];
    let mut rows = Vec::new();
    for context in
        list.into_iter().filter(|context| limits.levels > u32::from(context.thread.is_some()))
    {
        if context.samples < least {
            left_out[0] += 1;
        } else if rows.len() == limits.rows {
            left_out[1] += 1;
        } else {
            rows.push(context);
        }
    }
    (rows, left_out)
}

/// Writes the list for people.
///
/// # Errors
/// Those of `out`.
pub fn text(refined: &Refined<'_>, options: &Options, out: &mut impl Write) -> io::Result<()> {
    let form = if options.ascii { Form::Ascii } else { Form::Unicode };
    if !account_for(refined, options, form, out)? {
        return Ok(());
    }
    let metric = &refined.profile.info.metric;
    let cost = |samples| match options.measure.unwrap_or(Measure::Source) {
        Measure::Samples => count(samples, form),
        Measure::Source => amount(samples, metric, form),
    };
    let whole = if options.percent_of_all { refined.base } else { refined.shown };
    let (list, of_processes) = contexts(refined);
    let processes = list.iter().filter(|context| context.thread.is_none()).count();
    let mut programs = programs(refined.profile, &list);
    // Where each process has a program of its own, the list is the same.
    if programs.len() == 1 || programs.len() == processes {
        programs.clear();
    }
    let (rows, [small, beyond]) = wanted(refined, list, Limits::for_text(options));
    let unit = match options.measure {
        Some(Measure::Samples) => "samples",
        _ if metric.unit == "ns" => "time",
        _ => &printable(&metric.unit),
    };
    let mut lines =
        vec![[unit, "%", "imbalance", "processes and their threads"].map(str::to_owned)];
    lines.extend(rows.iter().map(|context| {
        let imbalance = if context.imbalance > 0 { cost(context.imbalance) } else { String::new() };
        let indent = if context.thread.is_some() { " " } else { "" };
        let label = format!("{indent}{}", cut(&context.label, LONG_COMMAND, form));
        [cost(context.samples), percent(context.samples, whole), imbalance, label]
    }));
    let width = |column: usize| {
        lines.iter().map(|line| line[column].chars().count()).max().unwrap_or_default()
    };
    let (time, share, imbalance) = (width(0), width(1), width(2));
    for [cost, part, uneven, label] in &lines {
        writeln!(out, "{cost:>time$}  {part:>share$}  {uneven:>imbalance$}  {label}")?;
    }
    writeln!(out)?;
    for (rows, option) in [(small, "--threshold"), (beyond, "--limit")] {
        if rows > 0 {
            let rows = counted(rows as u64, "row", form);
            writeln!(out, "{} {rows} more ({option})", dots(form))?;
        }
    }
    if !programs.is_empty() {
        if small + beyond > 0 {
            writeln!(out)?;
        }
        write_programs(&programs, unit, |samples| (cost(samples), percent(samples, whole)), out)?;
    }
    if processes > 1 {
        let processes = counted(processes as u64, "process", form);
        writeln!(out, "Imbalance of the {processes}: {}.", cost(of_processes))?;
    }
    writeln!(
        out,
        "Imbalance is what all of them together wait for the one with most, if they wait for each \
         other:\n(most - mean) x number; that of a process is its threads'."
    )
}

/// Writes what the processes of each program had together; `cells` has a cost and its share.
fn write_programs(
    programs: &[Program],
    unit: &str,
    cells: impl Fn(u64) -> (String, String),
    out: &mut impl Write,
) -> io::Result<()> {
    let cells: Vec<_> = programs.iter().map(|program| cells(program.samples)).collect();
    let costs = cells.iter().map(|(cost, _)| cost.chars().count()).chain([unit.chars().count()]);
    let shares = cells.iter().map(|(_, share)| share.len());
    let (time, part) = (costs.max().unwrap_or_default(), shares.max().unwrap_or_default());
    writeln!(out, "{unit:>time$}  {:>part$}  processes  programs (process = NAME)", "%")?;
    for (program, (cost, share)) in programs.iter().zip(&cells) {
        let (name, processes) = (printable(&program.name), program.processes);
        writeln!(out, "{cost:>time$}  {share:>part$}  {processes:>9}  {name}")?;
    }
    writeln!(out)
}

/// One row for machines.
#[derive(Serialize)]
struct JsonRow<'r> {
    /// 0 for a process, 1 for a thread of the process before it.
    depth: u32,
    /// `process` or `thread`.
    kind: &'static str,
    /// The command line, or the thread's name.
    name: String,
    /// `null` where the process has none.
    rank: Option<u32>,
    pid: u32,
    /// `null` for a process.
    tid: Option<u32>,
    /// The refinement to it.
    stage: &'r str,
    inclusive: u128,
    /// That of a process's threads; `null` for a thread.
    imbalance: Option<u128>,
}

fn json_row<'r>(refined: &Refined<'_>, measure: Measure, context: &'r Context) -> JsonRow<'r> {
    let info = &refined.profile.info;
    let process = &info.processes[context.process.index()];
    let thread = context.thread.map(|thread| &info.threads[thread.index()]);
    let of = |samples| measure.of(samples, refined.profile);
    JsonRow {
        depth: u32::from(thread.is_some()),
        kind: if thread.is_some() { "thread" } else { "process" },
        name: match thread {
            Some(thread) => String::from_utf8_lossy(&thread.name).into_owned(),
            None => command_line(&process.command),
        },
        rank: process.rank,
        pid: process.pid,
        tid: thread.map(|thread| thread.tid),
        stage: &context.stage,
        inclusive: of(context.samples),
        imbalance: thread.is_none().then(|| of(context.imbalance)),
    }
}

/// Writes the list for scripts: the heading of the other views, `imbalance` of the processes, and
/// `rows`, one on each line.
///
/// # Errors
/// Those of `out`.
pub fn json(refined: &Refined<'_>, options: &Options, out: &mut impl Write) -> io::Result<()> {
    let measure = options.measure.unwrap_or_default();
    let (list, of_processes) = all_contexts(refined);
    let (rows, _) = wanted(refined, list, Limits::for_machines(options));
    let imbalance = Some(measure.of(of_processes, refined.profile));
    let heading = heading(refined, measure, imbalance);
    let rows = rows.iter().map(|context| json_row(refined, measure, context));
    write_with_rows(&heading, rows, out)
}

/// Writes the list for spreadsheets: the rows of JSON, empty where they have `null`.
///
/// # Errors
/// Those of `out`.
pub fn csv(refined: &Refined<'_>, options: &Options, out: &mut impl Write) -> io::Result<()> {
    let measure = options.measure.unwrap_or_default();
    let (rows, _) = wanted(refined, all_contexts(refined).0, Limits::for_machines(options));
    let mut table = csv::WriterBuilder::new().has_headers(false).from_writer(out);
    table.write_record(COLUMNS).map_err(of_output)?;
    for context in &rows {
        table.serialize(json_row(refined, measure, context)).map_err(of_output)?;
    }
    table.flush()
}
