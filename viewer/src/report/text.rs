//! The report for people: a heading that accounts for every sample, and the hot rows.
//!
//! Numbers stand on the left and names on the right, so that long names and deep paths push
//! nothing out of line. What is left out is said where it is missing.

use std::borrow::Borrow;
use std::io::{self, Write};

use csprof_format::profile::Metric;

use super::aligned::Aligned;
use super::listing::{LeftOut, Limits, Line, Listing, list};
use super::{Options, View, basis_of_percentages, others, several, title};
use crate::profile::{FrameKind, MetricRef, name_of_file, short_name, short_place};
use crate::refine::Refined;
use crate::views::columns::{Basis, Column, Id};
use crate::views::cost_lines::coverage;
use crate::views::distribution::why_no_peers;
use crate::views::number::{Form, account, amount, count, counted, duration, percent};
use crate::views::printable::{command_line, printable};
use crate::views::strips::Strips;
use crate::views::summary::{Summary, are_all_of_time, why_clustered, why_no_samples};
use crate::views::{Arrangement, Cost, Row, Sort, StripKind};

/// Names longer than this lose their arguments and templates.
const LONG_NAME: usize = 80;

/// Command lines longer than this are cut in the heading; `csprof info` has all of it.
pub(super) const LONG_COMMAND: usize = 120;

/// Columns for each level: one, since call paths of real programs are 30 to 60 levels deep.
const INDENT: usize = 1;

/// How many times the cost that a row must have makes rows that are left out in one place worth
/// a line of their own.
const WORTH_A_LINE: u64 = 3;

/// Writes the report.
///
/// # Errors
/// Those of `out`.
pub fn write(refined: &Refined, options: &Options, out: &mut impl Write) -> io::Result<()> {
    let form = options.form();
    if !account_for(refined, options, form, out)? {
        return Ok(());
    }
    let limits = Limits::for_text(options);
    let listing = list(refined, options, limits);
    let basis = Basis { spread: options.spread, ..options.basis_of_text(refined) };
    let others = others(refined);
    let report = Text { refined, options, basis, form, limits, listing, others };
    report.table(out)?;
    if options.spread {
        let strips = Strips::of(refined);
        let over = |kind| strips.as_ref().and_then(|strips| strips.of_kind(kind));
        let line = match over(StripKind::Peers) {
            Some(strips) => format!("spread: over {} in their order", strips.whose(form)),
            None if refined.profile.info.is_sum() => format!("spread: {}", why_no_peers(refined)),
            None => "spread: no two ranks, processes or threads do the same work".to_owned(),
        };
        writeln!(out, "{line}")?;
        if let Some(phases) = over(StripKind::Phases) {
            writeln!(out, "over phases: {} as they began", phases.whose(form))?;
        } else if !refined.profile.info.phases.is_empty() {
            writeln!(out, "over phases: no two have samples")?;
        }
    }
    report.footing(out)
}

/// Writes the heading, and why there are no rows if there are none; returns whether there are.
pub(super) fn account_for(
    refined: &Refined,
    options: &Options,
    form: Form,
    out: &mut impl Write,
) -> io::Result<bool> {
    heading(refined, options, form, out)?;
    if let Some(cause) = why_no_samples(&refined.profile, form) {
        writeln!(out, "No samples: {cause}.")?;
        return Ok(false);
    }
    if refined.profile.metrics().all(|(metric, _)| refined.account_of(metric).1 == 0) {
        writeln!(out, "Nothing is shown: the refinement takes out every sample.")?;
        return Ok(false);
    }
    Ok(true)
}

/// What was run, what was sampled, what was lost, what is shown.
pub(super) fn heading(
    refined: &Refined,
    options: &Options,
    form: Form,
    out: &mut impl Write,
) -> io::Result<()> {
    let info = &refined.profile.info;
    let summary = Summary::of(&refined.profile);
    let metrics = several(refined);
    writeln!(out, "{}", cut(&command_line(&info.run.command), LONG_COMMAND, form))?;
    let samples = match metrics.is_empty() {
        true => sampled(summary.recorded, &info.metric, form),
        false => counted(summary.recorded, "sample", form),
    };
    let (parts, processes) = match info.is_sum() {
        true => (
            counted(info.summed_ranks().len() as u64, "rank", form),
            info.summed_processes().count(),
        ),
        false => (counted(info.thread_count(), "thread", form), info.processes.len()),
    };
    write!(out, "{samples} on {parts} of {}", counted(processes as u64, "process", form))?;
    let elapsed = duration(info.run.duration_ns as f64, form);
    match info.run.duration_ns {
        _ if info.run.goes_on() => write!(out, ", while it runs, after {elapsed}")?,
        0 => {}
        _ => write!(out, ", {elapsed} elapsed")?,
    }
    writeln!(out)?;
    writeln!(out, "{}", losses(&summary, form))?;
    if summary.recorded > 0
        && let Some(coverage) = coverage(&refined.profile)
    {
        writeln!(out, "{coverage}")?;
    }
    if let Some(refinement) = &options.refinement {
        writeln!(out, "refined: {}", printable(refinement))?;
    }
    for (metric, source) in &metrics {
        let (base, shown) = refined.account_of(*metric);
        write!(out, "{}", sampled(base, source, form))?;
        match base {
            0 => writeln!(out)?,
            _ => writeln!(out, "; {}", account(shown, base - shown))?,
        }
    }
    if refined.base > 0 && metrics.is_empty() {
        writeln!(out, "{}", account(refined.shown, refined.out))?;
    }
    if let (View::Tables, Some((table, title))) = (options.view, &options.table) {
        let row = &table.path;
        let path = title.split_once(": ").map_or("the empty path", |(_, path)| path);
        write!(out, "path: {}:", printable(path))?;
        let looked_at = (refined.metric, refined.looked_at());
        let each = [looked_at].into_iter().chain(others(refined)).map(|(metric, source)| {
            let inclusive = row.of(metric).inclusive;
            let cost = amount(inclusive, source, form);
            let share = percent(inclusive, refined.account_of(metric).0);
            let what = if metrics.is_empty() { "all" } else { &*printable(&source.source) };
            format!("{cost}, {share}% of {what}")
        });
        writeln!(out, " {}", each.collect::<Vec<_>>().join("; "))?;
    }
    writeln!(out)
}

/// How many samples there are, and what they amount to.
fn sampled(samples: u64, metric: &Metric, form: Form) -> String {
    format!(
        "{} of {}, {} each: {}",
        counted(samples, "sample", form),
        printable(&metric.source),
        amount(1, metric, form),
        amount(samples, metric, form),
    )
}

/// The first characters of a line, and dots if it has more.
pub(super) fn cut(line: &str, most: usize, form: Form) -> String {
    match line.char_indices().nth(most) {
        None => line.to_owned(),
        Some((end, _)) => format!("{}{}", &line[..end], dots(form)),
    }
}

pub(super) fn dots(form: Form) -> &'static str {
    match form {
        Form::Unicode => "…",
        Form::Ascii => "...",
    }
}

/// The name of a row, without arguments and templates if it has more than so many characters, and
/// whether it was inlined.
pub(super) fn name_of(refined: &Refined, row: &Row, most: usize) -> String {
    let mut name = printable(&refined.functions[row.function.index()].name).into_owned();
    if name.chars().count() > most {
        name = short_name(&name).into_owned();
    }
    match row.kind.definition().remark {
        "" => name,
        remark => format!("{name} ({remark})"),
    }
}

/// The innermost names of a path, given outermost first, each of a few dozen characters.
pub(super) fn path_of(refined: &Refined, rows: &[impl Borrow<Row>], form: Form) -> String {
    const LONG_NAME: usize = 48;
    const NAMES: usize = 6;
    let first = rows.len().saturating_sub(NAMES);
    let name = |row: &Row| cut(&name_of(refined, row, LONG_NAME), LONG_NAME, form);
    let left_out = (first > 0).then(|| dots(form).to_owned());
    let last = rows[first..].iter().map(|row| name(row.borrow()));
    let names: Vec<String> = left_out.into_iter().chain(last).collect();
    names.join(" > ")
}

/// Losses in one line.
fn losses(summary: &Summary, form: Form) -> String {
    let lost = summary.lost();
    if lost == 0 && summary.has_unsampled {
        return "no samples lost where samples were taken; some processes or threads had none: \
                csprof info"
            .to_owned();
    }
    if lost == 0 {
        return "no samples lost".to_owned();
    }
    let reasons: Vec<_> = summary
        .losses
        .iter()
        .filter(|reason| reason.samples > 0)
        .map(|reason| format!("{} {}", count(reason.samples, form), reason.key))
        .collect();
    format!(
        "lost {} of {} samples ({}%): {}",
        count(lost, form),
        count(summary.delivered, form),
        percent(lost, summary.delivered),
        reasons.join(", ")
    )
}

struct Text<'t> {
    refined: &'t Refined,
    options: &'t Options,
    basis: Basis<'t>,
    form: Form,
    limits: Limits,
    listing: Listing,
    /// The metrics that are not looked at.
    others: Vec<(MetricRef, &'t Metric)>,
}

impl Text<'_> {
    fn table(&self, out: &mut impl Write) -> io::Result<()> {
        let lines = &self.listing.lines;
        let columns = self.basis.on_page(self.options.view.cost());
        let heads = columns.iter().map(|column| column.heading(&self.basis).into_owned()).collect();
        let texts = |line: &Line| {
            columns.iter().map(|column| column.text_of(&self.basis, &line.row)).collect()
        };
        let cells: Vec<Vec<String>> = lines.iter().map(texts).collect();
        let mut aligned = Aligned::of_numbers(columns.len(), cells.iter().chain([&heads]));
        // Without the trampoline no row has edges, nor do places, and empty columns say nothing.
        let of_edges = |column: &usize| columns[*column].definition().unit.is_of_edges();
        let of_edges: Vec<usize> = (0..columns.len()).filter(of_edges).collect();
        if of_edges.iter().all(|&column| cells.iter().all(|row| row[column].is_empty())) {
            of_edges.into_iter().for_each(|column| aligned.leave_out(column));
        }
        // Nor do those of another metric of which nothing is shown, as the heading says.
        for (at, column) in columns.iter().enumerate() {
            if column.metric.is_some_and(|metric| self.refined.account_of(metric).1 == 0) {
                aligned.leave_out(at);
            }
        }
        let title = title(self.options.view, self.options.table.as_ref());
        aligned.write(&heads, &printable(title), out)?;

        let indent = aligned.indent();
        // What a row leaves out is said after everything that is below it.
        let mut pending: Vec<(usize, u32, LeftOut)> = Vec::new();
        for (at, (line, cells)) in lines.iter().zip(&cells).enumerate() {
            while let Some((_, depth, left_out)) = pending.pop_if(|&mut (end, ..)| end == at) {
                self.left_out(indent, depth, &left_out, out)?;
            }
            let indent = " ".repeat(INDENT * line.depth as usize);
            aligned.write(cells, &format!("{indent}{}", self.name(line)), out)?;
            pending.push((at + 1 + line.below, line.depth + 1, line.left_out.clone()));
        }
        while let Some((_, depth, left_out)) = pending.pop() {
            self.left_out(indent, depth, &left_out, out)?;
        }
        self.left_out(indent, 0, &self.listing.left_out, out)
    }

    /// Name, kind and place of a row.
    fn name(&self, line: &Line) -> String {
        let profile = &self.refined.profile;
        let function = &self.refined.functions[line.row.function.index()];
        let mut name = name_of(self.refined, &line.row, LONG_NAME);
        // A place says where it is by its name.
        if let Some(file) = function.file.filter(|_| line.row.kind != FrameKind::Context) {
            let place = short_place(&printable(profile.string(file)), function.line);
            // So do lines and loops.
            if !printable(&function.name).ends_with(name_of_file(&place)) {
                name = format!("{name}  {place}");
            }
        }
        if line.left_out.deeper {
            name.push(' ');
            name.push_str(dots(self.form));
        }
        name
    }

    /// Says what is missing in one place, if it is worth a line: at least [`WORTH_A_LINE`] times
    /// what a row must cost. The footing says why rows are missing.
    fn left_out(
        &self,
        indent: usize,
        depth: u32,
        left_out: &LeftOut,
        out: &mut impl Write,
    ) -> io::Result<()> {
        let rows = left_out.rows();
        let has_several = self.basis.has_several_metrics();
        let share = |((metric, source), &cost): ((MetricRef, &Metric), &u64)| {
            let least = self.limits.cost(self.refined.account_of(metric).1);
            let is_worth = cost >= least.saturating_mul(WORTH_A_LINE);
            let share = percent(cost, self.basis.whole(metric));
            match has_several {
                true => (is_worth && cost > 0)
                    .then(|| format!("{share}% of {}", printable(&source.source))),
                false => is_worth.then(|| format!("{share}%")),
            }
        };
        let shares = self.refined.profile.metrics().zip(&left_out.costs).filter_map(share);
        let share = shares.collect::<Vec<_>>().join(", ");
        if rows == 0 || share.is_empty() {
            return Ok(());
        }
        let dots = dots(self.form);
        let rows = count(rows as u64, self.form);
        let indent = " ".repeat(indent + INDENT * depth as usize);
        if !self.options.view.definition().adds_up {
            // What the rows of a table cost overlaps, and what places do, so its sum says nothing.
            return writeln!(out, "{indent}{dots} {rows} more");
        }
        writeln!(out, "{indent}{dots} {rows} more, together {share}")
    }

    /// What to ask for to see more, and what the columns mean.
    fn footing(&self, out: &mut impl Write) -> io::Result<()> {
        let all = || self.listing.all_left_out();
        let small = all().any(|left_out| left_out.small > 0);
        let beyond = all().any(|left_out| left_out.beyond > 0);
        let deeper = all().any(|left_out| left_out.deeper);
        let percentages = basis_of_percentages(self.refined, self.options);
        let mut cuts = Vec::new();
        if small {
            let is_inclusive = self.options.view.cost() == Cost::Inclusive;
            let what = if is_inclusive { "" } else { " exclusive" };
            let of = if self.others.is_empty() { "" } else { " of every metric" };
            let shown = if percentages.is_some() { ", of what is shown" } else { "" };
            cuts.push(format!("rows below {}%{what}{of}{shown} (--threshold)", self.limits.share));
        }
        if beyond {
            let rows = counted(self.limits.rows as u64, "row", self.form);
            // Lists are cut in the order they have.
            let sort = self.options.sort(self.refined);
            let usual = Sort::usual(self.options.view.cost(), &self.refined.profile);
            let is_list = self.options.view.definition().arrangement == Arrangement::List;
            let which = if is_list && sort != usual { "first" } else { "costliest" };
            cuts.push(format!("what came after the {which} {rows} (--limit)"));
        }
        if deeper && self.options.open.is_some() {
            cuts.push("what is below closed rows (--open)".to_owned());
        } else if deeper {
            let levels = counted(u64::from(self.limits.levels), "level", self.form);
            cuts.push(format!("what is below {levels} (--depth)"));
        }
        let mut notes = Vec::new();
        if !cuts.is_empty() {
            notes.push(format!("Left out: {}.", cuts.join(", ")));
        }
        notes.extend(percentages.map(str::to_owned));
        if self.refined.profile.info.run.trampoline && self.options.view.definition().has_edges {
            let looked_at = self.refined.looked_at();
            let period = amount(1, looked_at, self.form);
            let per_edge = Column::of(Id::PerEdge, None).heading(&self.basis);
            notes.push(match self.basis.clustered {
                None if !are_all_of_time(&self.refined.profile) => "Edges are returns of calls that \
                     a sample of any metric met, not calls. How long calls are is not\ntold: not all \
                     samples are of time."
                    .to_owned(),
                None if !self.others.is_empty() => format!(
                    "Edges are returns of calls that a sample of any metric met, not calls; {per_edge} \
                     is of {}.\nWhere no metric has much more than its period for each edge, calls \
                     are short and more than\nthe edges; where one has well above it, long and about \
                     as many.",
                    printable(&looked_at.source),
                ),
                None => format!(
                    "Edges are returns of calls that a sample met, not calls. Near one period \
                     ({period}) per edge,\ncalls are short and more than the edges; well above it, \
                     long and about as many."
                ),
                Some((signals, samples)) => {
                    let (_, finer) = why_clustered(&self.refined.profile);
                    let finer =
                        finer.map_or(String::new(), |source| format!(" ({source} sees finer detail)"));
                    format!(
                        "Edges are returns of calls that a sample met, not calls. How long calls are is \
                         not told here:\n{samples} samples came in {signals} signals, several periods \
                         at a time{finer}."
                    )
                }
            });
        }
        if notes.is_empty() {
            return Ok(());
        }
        writeln!(out)?;
        notes.iter().try_for_each(|note| writeln!(out, "{note}"))
    }
}
