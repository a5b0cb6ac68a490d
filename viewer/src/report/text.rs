//! The report for people: a heading that accounts for every sample, and the hot rows.
//!
//! Numbers stand on the left and names on the right, so that long names and deep paths push
//! nothing out of line. What is left out is said where it is missing.

use std::io::{self, Write};

use super::listing::{LeftOut, Limits, Line, Listing, list};
use super::{Measure, Options, View};
use crate::profile::{FrameKind, short_name};
use crate::refine::Refined;
use crate::views::Row;
use crate::views::cost_lines::coverage;
use crate::views::number::{Form, account, amount, count, counted, duration, edges, percent};
use crate::views::printable::{command_line, printable};
use crate::views::summary::{Summary, clustered, why_no_samples};
use crate::views::verdict::per_edge;

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
pub fn write(refined: &Refined<'_>, options: &Options, out: &mut impl Write) -> io::Result<()> {
    let form = if options.ascii { Form::Ascii } else { Form::Unicode };
    if !account_for(refined, options, form, out)? {
        return Ok(());
    }
    let limits = Limits::for_text(options);
    let listing = list(refined, options, limits);
    let clustered = clustered(refined.profile);
    let report = Text { refined, options, form, limits, listing, clustered };
    report.table(out)?;
    report.footing(out)
}

/// Writes the heading, and why there are no rows if there are none; returns whether there are.
pub(super) fn account_for(
    refined: &Refined<'_>,
    options: &Options,
    form: Form,
    out: &mut impl Write,
) -> io::Result<bool> {
    heading(refined, options, form, out)?;
    if let Some(cause) = why_no_samples(refined.profile, form) {
        writeln!(out, "No samples: {cause}.")?;
        return Ok(false);
    }
    if refined.shown == 0 {
        writeln!(out, "Nothing is shown: the refinement takes out every sample.")?;
        return Ok(false);
    }
    Ok(true)
}

/// What was run, what was sampled, what was lost, what is shown.
fn heading(
    refined: &Refined<'_>,
    options: &Options,
    form: Form,
    out: &mut impl Write,
) -> io::Result<()> {
    let info = &refined.profile.info;
    let summary = Summary::of(refined.profile);
    writeln!(out, "{}", cut(&command_line(&info.run.command), LONG_COMMAND, form))?;
    write!(
        out,
        "{} of {}, {} each: {} on {} of {}",
        counted(summary.recorded, "sample", form),
        printable(&info.metric.source),
        amount(1, &info.metric, form),
        amount(summary.recorded, &info.metric, form),
        counted(info.threads.len() as u64, "thread", form),
        counted(info.processes.len() as u64, "process", form),
    )?;
    if info.run.duration_ns > 0 {
        write!(out, ", {} elapsed", duration(info.run.duration_ns as f64, form))?;
    }
    writeln!(out)?;
    writeln!(out, "{}", losses(&summary, form))?;
    if refined.base > 0
        && let Some(coverage) = coverage(refined.profile)
    {
        writeln!(out, "{coverage}")?;
    }
    if let Some(refinement) = &options.refinement {
        writeln!(out, "refined: {}", printable(refinement))?;
    }
    if refined.base > 0 {
        writeln!(out, "{}", account(refined.shown, refined.out))?;
    }
    if let (View::Tables, Some((table, title))) = (options.view, &options.table) {
        let row = &table.path;
        let cost = amount(row.inclusive, &info.metric, form);
        let share = percent(row.inclusive, refined.base);
        let path = title.split_once(": ").map_or("the empty path", |(_, path)| path);
        writeln!(out, "path: {}: {cost}, {share}% of all", printable(path))?;
    }
    writeln!(out)
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

/// Losses in one line.
fn losses(summary: &Summary, form: Form) -> String {
    let lost = summary.lost();
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
    refined: &'t Refined<'t>,
    options: &'t Options,
    form: Form,
    limits: Limits,
    listing: Listing,
    /// Signals and samples, where samples do not tell how long calls are.
    clustered: Option<(u64, u64)>,
}

/// The numbers of a row, as written.
type Cells = [String; 5];

impl Text<'_> {
    fn table(&self, out: &mut impl Write) -> io::Result<()> {
        let lines = &self.listing.lines;
        let heads = self.heads();
        let cells: Vec<Cells> = lines.iter().map(|line| self.cells(&line.row)).collect();
        let mut widths = [0; 5];
        for row in cells.iter().chain([&heads]) {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = (*width).max(cell.chars().count());
            }
        }
        let edges = cells.iter().any(|row| !row[3].is_empty());
        // Without the trampoline no row has edges, nor do places, and empty columns say nothing.
        let shown = if edges { 5 } else { 3 };
        let write_cells = |out: &mut dyn Write, cells: &Cells| -> io::Result<()> {
            for (cell, width) in cells.iter().zip(widths).take(shown) {
                write!(out, "{cell:>width$}  ")?;
            }
            Ok(())
        };
        write_cells(out, &heads)?;
        let what = match self.options.view {
            View::TopDown => "call path",
            View::Callers => "function, callers below it",
            View::Flat => "function",
            View::Places => "place",
            View::Tables => self.options.table.as_ref().map_or("", |(_, title)| title),
        };
        writeln!(out, "{}", printable(what))?;

        let indent = widths.iter().take(shown).map(|width| width + 2).sum::<usize>();
        // What a row leaves out is said after everything that is below it.
        let mut pending: Vec<(usize, u32, LeftOut)> = Vec::new();
        for (at, (line, cells)) in lines.iter().zip(&cells).enumerate() {
            while let Some((_, depth, left_out)) = pending.pop_if(|&mut (end, ..)| end == at) {
                self.left_out(indent, depth, left_out, out)?;
            }
            write_cells(out, cells)?;
            writeln!(out, "{:1$}{2}", "", INDENT * line.depth as usize, self.name(line))?;
            pending.push((at + 1 + line.below, line.depth + 1, line.left_out));
        }
        while let Some((_, depth, left_out)) = pending.pop() {
            self.left_out(indent, depth, left_out, out)?;
        }
        self.left_out(indent, 0, self.listing.left_out, out)
    }

    fn heads(&self) -> Cells {
        let inclusive = match self.measure() {
            Measure::Samples => "incl samples".to_owned(),
            Measure::Source if self.refined.profile.info.metric.unit == "ns" => "incl time".into(),
            Measure::Source => {
                format!("incl {}", printable(&self.refined.profile.info.metric.unit))
            }
        };
        [inclusive, "%".into(), "excl %".into(), "edges".into(), "time/edge".into()]
    }

    /// What percentages are of.
    fn whole(&self) -> u64 {
        if self.options.percent_of_all { self.refined.base } else { self.refined.shown }
    }

    fn measure(&self) -> Measure {
        self.options.measure.unwrap_or(Measure::Source)
    }

    fn cells(&self, row: &Row) -> Cells {
        let metric = &self.refined.profile.info.metric;
        let inclusive = match self.measure() {
            Measure::Samples => count(row.inclusive, self.form),
            Measure::Source => amount(row.inclusive, metric, self.form),
        };
        let exclusive = match row.exclusive {
            0 => ".".to_owned(),
            samples => percent(samples, self.whole()),
        };
        [
            inclusive,
            percent(row.inclusive, self.whole()),
            exclusive,
            edges(row.edges, self.form),
            per_edge(row, metric, self.clustered.is_some(), self.form),
        ]
    }

    /// Name, kind and place of a row.
    fn name(&self, line: &Line) -> String {
        let profile = self.refined.profile;
        let function = &self.refined.functions[line.row.function.index()];
        let mut name = printable(&function.name).into_owned();
        if name.chars().count() > LONG_NAME {
            name = short_name(&name).into_owned();
        }
        if line.row.kind == FrameKind::Inline {
            name.push_str(" (inlined)");
        }
        // A place says where it is by its name.
        if let Some(file) = function.file.filter(|_| line.row.kind != FrameKind::Context) {
            let path = profile.string(file);
            let file = printable(path.rsplit('/').next().unwrap_or(path));
            name.push_str(&match function.line {
                0 => format!("  {file}"),
                line => format!("  {file}:{line}"),
            });
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
        left_out: LeftOut,
        out: &mut impl Write,
    ) -> io::Result<()> {
        let rows = left_out.small + left_out.beyond;
        let cost = left_out.small_cost.saturating_add(left_out.beyond_cost);
        let least = self.limits.cost(self.refined).saturating_mul(WORTH_A_LINE);
        if rows == 0 || cost < least {
            return Ok(());
        }
        let dots = dots(self.form);
        let (rows, share) = (count(rows as u64, self.form), percent(cost, self.whole()));
        let indent = indent + INDENT * depth as usize;
        if self.options.view == View::Tables {
            // What the rows of a table cost overlaps, so its sum says nothing.
            return writeln!(out, "{:indent$}{dots} {rows} more", "");
        }
        writeln!(out, "{:indent$}{dots} {rows} more, together {share}%", "")
    }

    /// What to ask for to see more, and what the columns mean.
    fn footing(&self, out: &mut impl Write) -> io::Result<()> {
        let all = || self.listing.lines.iter().map(|l| l.left_out).chain([self.listing.left_out]);
        let small = all().any(|left_out| left_out.small > 0);
        let beyond = all().any(|left_out| left_out.beyond > 0);
        let deeper = all().any(|left_out| left_out.deeper);
        let mut cuts = Vec::new();
        if small {
            let is_inclusive = !matches!(self.options.view, View::Callers | View::Flat);
            let what = if is_inclusive { "" } else { " exclusive" };
            cuts.push(format!("rows below {}%{what} (--threshold)", self.limits.share));
        }
        if beyond {
            let rows = counted(self.limits.rows as u64, "row", self.form);
            cuts.push(format!("what came after the costliest {rows} (--limit)"));
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
        if self.refined.out > 0 {
            let of =
                if self.options.percent_of_all { "all that was measured" } else { "what is shown" };
            notes.push(format!("Percentages are of {of}."));
        }
        if self.refined.profile.info.run.trampoline && self.options.view != View::Places {
            let period = amount(1, &self.refined.profile.info.metric, self.form);
            notes.push(match self.clustered {
                None => format!(
                    "Edges are returns of sampled activations, not calls. Near one period \
                     ({period}) per edge,\ncalls are short and more than the edges; well above it, \
                     long and about as many."
                ),
                Some((signals, samples)) => format!(
                    "Edges are returns of sampled activations, not calls. How long calls are is not \
                     told here:\n{samples} samples came in {signals} signals, several periods at a \
                     time (-e task-clock sees finer detail)."
                ),
            });
        }
        if notes.is_empty() {
            return Ok(());
        }
        writeln!(out)?;
        notes.iter().try_for_each(|note| writeln!(out, "{note}"))
    }
}
