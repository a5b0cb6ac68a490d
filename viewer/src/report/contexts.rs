//! Processes and threads with their imbalance: [`views::contexts`](crate::views::contexts) as
//! text, JSON and CSV.
//!
//! Text lists threads where a process has several; machines get every thread. Of [`Options`] the
//! measure, the depth (1: processes alone), the limits and what percentages are of count here.

use std::io::{self, Write};

use serde::Serialize;

use super::aligned::Aligned;
use super::json::{self, Heading, JsonRow, heading};
use super::listing::{Limits, Scale};
use super::text::{LONG_COMMAND, account_for, cut, dots};
use super::{Measure, Options, basis_of_percentages, csv};
use crate::refine::{Refined, unwatched};
use crate::views::clusters::{Cluster, Clusters, NOT_OF_SUMS};
use crate::views::columns::{AnyRow, Basis, Column, Id, PercentOf};
use crate::views::contexts::{Context, all_contexts, contexts, programs};
use crate::views::number::{Form, counted};
use crate::views::printable::printable;
use crate::views::{Cost, Row};

/// The rows that are wanted, in the order of the list, and how many are left out for being small,
/// and for coming late. No peer is small unless the person says what is: of a hundred ranks or
/// more, all have less than one percent. Processes come before threads.
fn wanted(refined: &Refined, list: Vec<Context>, limits: Limits) -> (Vec<Context>, [usize; 2]) {
    let scale = Scale::new(refined, limits);
    let is_small = |context: &Context| {
        let is_small = scale.of(&context.row, Cost::Inclusive) < scale.least;
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
    let form = options.form();
    if !account_for(refined, options, form, out)? {
        return Ok(());
    }
    let measure = options.measure.unwrap_or(Measure::Source);
    let percent_of = PercentOf::shown(options.percent_of_shown);
    let basis = Basis { measure, percent_of, form, ..Basis::new(refined) };
    let (list, of_processes) = unwatched(|watch| contexts(refined, watch));
    let of_threads = list.iter().any(|of| of.balance(refined.metric).unwrap_or_default().peers > 1);
    let processes = list.iter().filter(|context| context.thread.is_none()).count();
    let mut programs = programs(refined, &list);
    // Where each process has a program of its own, the list is the same.
    if programs.len() == 1 || programs.len() == processes {
        programs.clear();
    }
    let (rows, [small, beyond]) = wanted(refined, list, Limits::for_text(options));
    let mut columns = basis.of_contexts();
    let heads = |columns: &[Column], last: &[&str]| -> Vec<String> {
        let heads = columns.iter().map(|column| column.heading(&basis).into_owned());
        heads.chain(last.iter().map(ToString::to_string)).collect()
    };
    let cells = |columns: &[Column], row: AnyRow<'_>, last: &[String]| -> Vec<String> {
        let cells = columns.iter().map(|column| column.text_of(&basis, row));
        cells.chain(last.iter().cloned()).collect()
    };
    let mut lines = vec![heads(&columns, &["processes and their threads"])];
    lines.extend(rows.iter().map(|context| {
        let indent = if context.thread.is_some() { " " } else { "" };
        let label = format!("{indent}{}", cut(&context.label, LONG_COMMAND, form));
        cells(&columns, context.into(), &[label])
    }));
    write_aligned(&lines, out)?;
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
        columns.retain(|column| column.id != Id::Imbalance);
        let mut lines = vec![heads(&columns, &["processes", "programs (process = NAME)"])];
        lines.extend(programs.iter().map(|program| {
            let last = [program.processes.to_string(), printable(&program.name).into_owned()];
            cells(&columns, (&program.row).into(), &last)
        }));
        write_aligned(&lines, out)?;
    }
    if let Some(percentages) = basis_of_percentages(refined, options) {
        writeln!(out, "{percentages}")?;
    }
    let whose = of_processes.whose(form);
    if let Some(whose) = &whose {
        let imbalance = measure.text(of_processes.balance.imbalance(), refined.looked_at(), form);
        writeln!(out, "Imbalance of the {whose}: {imbalance}.")?;
    }
    write_clusters(refined, form, out)?;
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

/// Writes which peers do the same, where they are many.
fn write_clusters(refined: &Refined, form: Form, out: &mut impl Write) -> io::Result<()> {
    let Some(clusters) = unwatched(|watch| Clusters::of(refined, watch)) else {
        let info = &refined.profile.info;
        return match info.merely_summed_ranks().is_empty() {
            true => Ok(()),
            false => writeln!(out, "Not here: {NOT_OF_SUMS}."),
        };
    };
    for (cluster, number) in clusters.list.iter().zip(1..) {
        writeln!(out, "cluster {number}: {}", clusters.said(refined, cluster, form))?;
    }
    if !clusters.alone.is_empty() {
        let peers = counted(clusters.alone.len() as u64, clusters.noun, form);
        writeln!(out, "{peers} more, alike to none of these")?;
    }
    Ok(())
}

/// Writes lines in columns of numbers, and the last cell behind them; then an empty line.
fn write_aligned(lines: &[Vec<String>], out: &mut impl Write) -> io::Result<()> {
    let numbers = lines[0].len() - 1;
    let aligned = Aligned::of_numbers(numbers, lines);
    lines.iter().try_for_each(|line| aligned.write(&line[..numbers], &line[numbers], out))?;
    writeln!(out)
}

/// How far a line is indented: a thread is in the process before it.
fn depth(context: &Context) -> u32 {
    u32::from(context.thread.is_some())
}

/// What stands before the rows.
#[derive(Serialize)]
struct Object<'r> {
    #[serde(flatten)]
    heading: Heading<'r>,
    clusters: Option<Vec<JsonCluster<'r>>>,
}

/// Peers that do the same.
#[derive(Serialize)]
struct JsonCluster<'r> {
    /// The peer that the others are like.
    like: &'r str,
    peers: Vec<&'r str>,
    /// Where they differ most from the first cluster, and means there.
    path: Option<Vec<&'r str>>,
    mean: Option<f64>,
    mean_of_first: Option<f64>,
}

impl<'r> JsonCluster<'r> {
    /// One of them; a sample is so much.
    fn of(refined: &'r Refined, all: &'r Clusters, cluster: &'r Cluster, each: f64) -> Self {
        let label = |&peer: &u32| &*all.labels[peer as usize];
        let name = |row: &Row| &*refined.functions[row.function.index()].name;
        let difference = cluster.difference.as_ref();
        Self {
            like: label(&cluster.like),
            peers: cluster.peers.iter().map(label).collect(),
            path: difference.map(|of| of.rows.iter().map(name).collect()),
            mean: difference.map(|of| of.means[0] * each),
            mean_of_first: difference.map(|of| of.means[1] * each),
        }
    }
}

/// Writes the list for scripts: the heading of the other views, `imbalance` of the processes and
/// the number of `peers` that it is of, `clusters` of peers that do the same (`null` where they are
/// few, or it is not known what each does), and `rows`, one on each line.
///
/// # Errors
/// Those of `out`.
pub fn json(refined: &Refined, options: &Options, out: &mut impl Write) -> io::Result<()> {
    let measure = options.measure.unwrap_or_default();
    let (list, of_processes) = unwatched(|watch| all_contexts(refined, watch));
    let (rows, _) = wanted(refined, list, Limits::for_machines(options));
    let imbalance = measure.of(of_processes.balance.imbalance(), refined.looked_at());
    let heading = heading(refined, options, Some((imbalance, of_processes.balance.peers)));
    let basis = Basis { measure, ..Basis::new(refined) };
    let columns = basis.of_contexts_for_machines();
    let clusters = unwatched(|watch| Clusters::of(refined, watch));
    let each = measure.of(1, refined.looked_at()) as f64;
    let clusters = clusters.as_ref().map(|of| {
        of.list.iter().map(|cluster| JsonCluster::of(refined, of, cluster, each)).collect()
    });
    let mut written = json::JsonRows::begin(&Object { heading, clusters }, out)?;
    rows.iter().try_for_each(|context| {
        let (row, depth) = (context.into(), depth(context));
        written.write(&JsonRow { basis: &basis, columns: &columns, row, depth: Some(depth) })
    })?;
    written.end()
}

/// Writes the list for spreadsheets: the rows of JSON, empty where they have `null`; of several
/// metrics, two columns for each at the end.
///
/// # Errors
/// Those of `out`.
pub fn csv(refined: &Refined, options: &Options, out: &mut impl Write) -> io::Result<()> {
    let (list, _) = unwatched(|watch| all_contexts(refined, watch));
    let (rows, _) = wanted(refined, list, Limits::for_machines(options));
    let basis = Basis { measure: options.measure.unwrap_or_default(), ..Basis::new(refined) };
    let columns = basis.of_contexts_for_machines().concat();
    let mut written = csv::CsvRows::begin(&basis, &columns, out)?;
    rows.iter().try_for_each(|context| written.write(context, depth(context)))?;
    written.end()
}
