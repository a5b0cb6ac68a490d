//! Processes and threads with their imbalance: [`views::contexts`](crate::views::contexts) as
//! text, JSON and CSV.
//!
//! Text lists threads where a process has several; machines get every thread. Of [`Options`] the
//! measure, the depth (1: processes alone), the limits and what percentages are of count here.

use std::io::{self, Write};

use csprof_format::profile::Metric;
use serde::Serialize;

use super::aligned::Aligned;
use super::csv::{cell, further_columns, of_output};
use super::json::{ByMetric, heading, write_with_rows};
use super::listing::{Limits, Scale};
use super::text::{LONG_COMMAND, account_for, cut, dots};
use super::{Measure, Options, basis_of_percentages, others, several};
use crate::profile::MetricRef;
use crate::refine::Refined;
use crate::views::contexts::{Context, Part, all_contexts, contexts, programs};
use crate::views::number::{Form, counted, percent};
use crate::views::printable::{command_line, printable};

/// Names of the columns.
pub const COLUMNS: [&str; 10] =
    ["depth", "kind", "name", "rank", "pid", "tid", "stage", "inclusive", "imbalance", "peer"];

/// The rows that are wanted, in the order of the list, and how many are left out for being small,
/// and for coming late. No peer is small unless the person says what is: of a hundred ranks or
/// more, all have less than one percent. Processes come before threads.
fn wanted(refined: &Refined, list: Vec<Context>, limits: Limits) -> (Vec<Context>, [usize; 2]) {
    let scale = Scale::new(refined, limits);
    let is_small = |context: &Context| {
        let of_each = context.further.iter().map(|part| part.samples);
        let is_small = scale.weight(context.samples, of_each) < scale.least;
        is_small && !(context.is_peer && context.thread.is_none() && !limits.is_share_asked)
    };
    let mut left_out = [0; 2];
    let mut room = limits.rows;
    let mut wanted = vec![false; list.len()];
    for is_thread in [false, true] {
        let rows = list.iter().zip(&mut wanted);
        for (context, wanted) in rows.filter(|(context, _)| context.thread.is_some() == is_thread) {
            if limits.levels <= u32::from(is_thread) {
                continue;
            }
            if is_small(context) {
                left_out[0] += 1;
            } else if room == 0 {
                left_out[1] += 1;
            } else {
                room -= 1;
                *wanted = true;
            }
        }
    }
    let rows = list.into_iter().zip(wanted).filter_map(|(row, wanted)| wanted.then_some(row));
    (rows.collect(), left_out)
}

/// Writes the list for people.
///
/// # Errors
/// Those of `out`.
pub fn text(refined: &Refined, options: &Options, out: &mut impl Write) -> io::Result<()> {
    let form = if options.ascii { Form::Ascii } else { Form::Unicode };
    if !account_for(refined, options, form, out)? {
        return Ok(());
    }
    let looked_at = refined.looked_at();
    let others = others(refined);
    let measure = options.measure.unwrap_or(Measure::Source);
    let cost = |samples| measure.text(samples, looked_at, form);
    let whole = |metric| {
        let (base, shown) = refined.account_of(metric);
        if options.percent_of_shown { shown } else { base }
    };
    // Cost and share of a metric.
    let cells = |samples, (metric, source): (MetricRef, &Metric)| {
        [measure.text(samples, source, form), percent(samples, whole(metric))]
    };
    let of_looked_at = |samples| cells(samples, (refined.metric, looked_at));
    let (list, of_processes) = contexts(refined);
    let of_threads = list.iter().any(|context| context.peers > 1);
    let processes = list.iter().filter(|context| context.thread.is_none()).count();
    let mut programs = programs(&refined.profile, &list);
    // Where each process has a program of its own, the list is the same.
    if programs.len() == 1 || programs.len() == processes {
        programs.clear();
    }
    let (rows, [small, beyond]) = wanted(refined, list, Limits::for_text(options));
    let unit = match options.measure {
        _ if !others.is_empty() => &printable(&looked_at.source),
        Some(Measure::Samples) => "samples",
        _ if looked_at.is_time() => "time",
        _ => &printable(&looked_at.unit),
    };
    let mut heads = [unit, "%", "imbalance"].map(str::to_owned).to_vec();
    let mut further_heads = Vec::new();
    for (_, metric) in &others {
        further_heads.extend([&*printable(&metric.source), "%"].map(str::to_owned));
    }
    heads.extend_from_slice(&further_heads);
    heads.push("processes and their threads".to_owned());
    let mut lines = vec![heads];
    lines.extend(rows.iter().map(|context| {
        let imbalance = if context.imbalance > 0 { cost(context.imbalance) } else { String::new() };
        let indent = if context.thread.is_some() { " " } else { "" };
        let mut line = of_looked_at(context.samples).to_vec();
        line.push(imbalance);
        line.extend(others.iter().flat_map(|&of| cells(context.further[of.0.index()].samples, of)));
        line.push(format!("{indent}{}", cut(&context.label, LONG_COMMAND, form)));
        line
    }));
    write_aligned(&lines, out)?;
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
        let mut heads = vec![unit.to_owned(), "%".to_owned()];
        heads.extend(further_heads);
        heads.extend(["processes", "programs (process = NAME)"].map(str::to_owned));
        let mut lines = vec![heads];
        lines.extend(programs.iter().map(|program| {
            let mut line = of_looked_at(program.samples).to_vec();
            line.extend(others.iter().flat_map(|&of| cells(program.further[of.0.index()], of)));
            line.push(program.processes.to_string());
            line.push(printable(&program.name).into_owned());
            line
        }));
        write_aligned(&lines, out)?;
        writeln!(out)?;
    }
    if let Some(percentages) = basis_of_percentages(refined, options) {
        writeln!(out, "{percentages}")?;
    }
    let whose = of_processes.whose(form);
    if let Some(whose) = &whose {
        writeln!(out, "Imbalance of the {whose}: {}.", cost(of_processes.samples))?;
    }
    if whose.is_none() && !of_threads {
        return Ok(());
    }
    writeln!(
        out,
        "Imbalance is what peers together wait for the one with most, if they wait for each \
         other:\n(most - mean) x number. Peers are ranks; without ranks, processes of one program \
         and parent;\nof a process, threads: those that run at one time and do the same work."
    )
}

/// Writes lines in columns of numbers, and the last cell behind them.
fn write_aligned(lines: &[Vec<String>], out: &mut impl Write) -> io::Result<()> {
    let count = lines.first().map_or(1, Vec::len);
    let aligned = Aligned::of_numbers(count - 1, lines);
    lines.iter().try_for_each(|line| match line.split_last() {
        Some((last, cells)) => aligned.write(cells, last, out),
        None => Ok(()),
    })
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
    /// Whether an imbalance is of this process or thread and others.
    peer: bool,
    #[serde(skip_serializing_if = "ByMetric::is_empty")]
    metrics: ByMetric<'r, JsonPart>,
}

/// What a row has of one metric.
#[derive(Serialize)]
struct JsonPart {
    inclusive: u128,
    imbalance: Option<u128>,
}

fn json_row<'r>(refined: &'r Refined, measure: Measure, context: &'r Context) -> JsonRow<'r> {
    let info = &refined.profile.info;
    let process = &info.processes[context.process.index()];
    let thread = context.thread.map(|thread| &info.threads[thread.index()]);
    let of = |samples| measure.of(samples, refined.looked_at());
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
        peer: context.is_peer,
        metrics: ByMetric(parts(refined, measure, context)),
    }
}

/// What a row has of each metric, where there are several.
fn parts<'r>(
    refined: &'r Refined,
    measure: Measure,
    context: &Context,
) -> Vec<(&'r str, JsonPart)> {
    let is_process = context.thread.is_none();
    let part = |((_, metric), part): ((_, &'r Metric), &Part)| {
        let imbalance = is_process.then(|| measure.of(part.imbalance, metric));
        let inclusive = measure.of(part.samples, metric);
        (&metric.source[..], JsonPart { inclusive, imbalance })
    };
    several(refined).into_iter().zip(&context.further).map(part).collect()
}

/// Writes the list for scripts: the heading of the other views, `imbalance` of the processes and
/// the number of `peers` that it is of, and `rows`, one on each line.
///
/// # Errors
/// Those of `out`.
pub fn json(refined: &Refined, options: &Options, out: &mut impl Write) -> io::Result<()> {
    let measure = options.measure.unwrap_or_default();
    let (list, of_processes) = all_contexts(refined);
    let (rows, _) = wanted(refined, list, Limits::for_machines(options));
    let imbalance = measure.of(of_processes.samples, refined.looked_at());
    let heading = heading(refined, measure, Some((imbalance, of_processes.peers)));
    let rows = rows.iter().map(|context| json_row(refined, measure, context));
    write_with_rows(&heading, rows, out)
}

/// Writes the list for spreadsheets: the rows of JSON, empty where they have `null`; of several
/// metrics, two columns for each at the end.
///
/// # Errors
/// Those of `out`.
pub fn csv(refined: &Refined, options: &Options, out: &mut impl Write) -> io::Result<()> {
    let measure = options.measure.unwrap_or_default();
    let (rows, _) = wanted(refined, all_contexts(refined).0, Limits::for_machines(options));
    let mut table = csv::WriterBuilder::new().has_headers(false).from_writer(out);
    let further = further_columns(refined, ["inclusive", "imbalance"]);
    let columns = COLUMNS.into_iter().chain(further.iter().map(String::as_str));
    table.write_record(columns).map_err(of_output)?;
    for context in &rows {
        let parts = parts(refined, measure, context).into_iter().map(|(_, part)| part);
        let row = json_row(refined, measure, context);
        let name = cell(&row.name).into_owned();
        let row = JsonRow { metrics: ByMetric(Vec::new()), name, ..row };
        table.serialize((row, parts.collect::<Vec<_>>())).map_err(of_output)?;
    }
    table.flush()
}
