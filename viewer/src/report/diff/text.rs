//! The report of a comparison for people: what each side is, what they differ by, and where.
//!
//! A mark at the left says what is more than noise: `▲` more and `▼` less, in ASCII `+` and `-`.

use std::io::{self, Write};

use super::super::aligned::Aligned;
use super::super::listing::{LeftOut, Limits, Line, Listing};
use super::super::text::{cut, name_of};
use super::super::title;
use super::listing::{list, unexplored};
use super::{Options, comparison, noise_by, shown_of_runs_of, total};
use crate::profile::FrameKind;
use crate::profile::comparison::{BASE, Comparison, OTHER, Scale, Scaling, ScalingKind, SideRun};
use crate::refine::Refined;
use crate::views::columns::Basis;
use crate::views::difference::{Change, Difference, unrelated};
use crate::views::number::{Form, amount, count, counted, percent};
use crate::views::printable::{command_line, printable};
use crate::views::shown_of_sides;

/// Names longer than this lose their arguments and templates.
const LONG_NAME: usize = 60;

/// Runs of a side that are listed.
const MOST_RUNS: usize = 10;

/// Command lines are cut where they would break the heading's lines.
const LONG_COMMAND: usize = 40;

/// Writes the report.
///
/// # Errors
/// Those of `out`.
pub fn write(refined: &Refined, options: &Options, out: &mut impl Write) -> io::Result<()> {
    let form = options.form();
    let report = Text::new(refined, options, form);
    report.heading(out)?;
    let listing = list(refined, options, report.limits);
    if listing.lines.is_empty() {
        writeln!(out, "{}", report.nothing())?;
    } else {
        report.table(&listing, out)?;
    }
    report.footing(&listing, out)
}

/// Writes what is compared, what became of the total and what is shown.
pub(in crate::report) fn heading(
    refined: &Refined,
    options: &Options,
    form: Form,
    out: &mut impl Write,
) -> io::Result<()> {
    Text::new(refined, options, form).heading(out)
}

struct Text<'t> {
    refined: &'t Refined,
    comparison: &'t Comparison,
    options: &'t Options,
    basis: Basis<'t>,
    form: Form,
    limits: Limits,
}

impl<'t> Text<'t> {
    fn new(refined: &'t Refined, options: &'t Options, form: Form) -> Self {
        let limits = Limits::for_text(options);
        let basis = Basis { form, ..Basis::new(refined) };
        Self { refined, comparison: comparison(refined), options, basis, form, limits }
    }

    /// The sides, what became of the total, what is shown.
    fn heading(&self, out: &mut impl Write) -> io::Result<()> {
        let form = self.form;
        let names = self.comparison.sides.each_ref().map(|side| printable(&side.name).into_owned());
        let width = names.iter().map(|name| name.chars().count()).max().unwrap_or(0);
        let times = if form == Form::Unicode { '×' } else { 'x' };
        for (side, label) in [(BASE, "base"), (OTHER, "other")] {
            let of = &self.comparison.sides[side];
            let lost = match of.lost {
                0 => String::new(),
                lost => format!(" ({} lost)", count(lost, form)),
            };
            let command = cut(&command_line(&of.run.command), LONG_COMMAND, form);
            let runs = match of.runs.len() {
                1 => String::new(),
                runs => format!(" in {runs} runs"),
            };
            writeln!(
                out,
                "{label:<5}  {:<width$}  {} {times} {} of {} = {}{runs}{lost}  {command}",
                names[side],
                count(of.total, form),
                amount(1, &of.metric, form),
                printable(&of.metric.source),
                amount(of.total, &of.metric, form),
            )?;
            self.runs(side, out)?;
        }
        if let Some(Scaling { kind, workers: [base, other] }) = self.comparison.scaling {
            let expected = match kind {
                ScalingKind::Strong => "all together should cost as much as base",
                ScalingKind::Weak => "each should cost as much as each of base",
            };
            let (kind, arrow) = (kind.name(), if form == Form::Unicode { "→" } else { "->" });
            writeln!(out, "{kind} scaling: {base} {arrow} {other} ranks or threads; {expected}")?;
        }
        let [base, other] = self.comparison.sides.each_ref();
        if base.metric != other.metric && self.comparison.scale != Scale::Share {
            writeln!(out, "sampled differently: times are compared, and edge counts are not")?;
        }
        if let Some(doubt) = unrelated(&self.refined.profile) {
            writeln!(out, "{doubt}")?;
        }
        if let Some(refinement) = &self.options.refinement {
            writeln!(out, "refined: {}", printable(refinement))?;
        }
        let shown = shown_of_sides(self.refined);
        let account = |side: usize| {
            let total = self.comparison.sides[side].total;
            let (shown, out) = (count(shown[side], form), count(total - shown[side], form));
            format!("{shown} + {out} = {}", counted(total, "sample", form))
        };
        writeln!(out, "shown + out: base {}, other {}", account(BASE), account(OTHER))?;
        let all = total(self.refined);
        let unit = all.unit_behind();
        let verdict = match (all.change(), all.is_significant()) {
            (Change::Same, _) => "none".to_owned(),
            (_, significant) if self.comparison.scaling.is_some() => format!(
                "{}{unit}{}, {}: {}",
                all.delta(form),
                all.share_of_other().map_or_else(String::new, |_| format!(
                    ", {}% of all that other costs",
                    all.share_of_other_text()
                )),
                all.noise(form),
                if significant { "more than noise" } else { "within noise" }
            ),
            (_, significant) => format!(
                "{}{unit} ({}), {}: {}",
                all.delta(form),
                all.growth_with_unit(form),
                all.noise(form),
                if significant { "more than noise" } else { "within noise" }
            ),
        };
        let what = if self.comparison.scaling.is_some() { "loss" } else { "difference" };
        writeln!(out, "{what}: {verdict}\n")
    }

    /// The runs of a side, where it has several.
    fn runs(&self, side: usize, out: &mut impl Write) -> io::Result<()> {
        let of = &self.comparison.sides[side];
        if of.runs.len() < 2 {
            return Ok(());
        }
        // In what the sides are compared in, and of what is shown: what the mean below is of.
        let amount = |run: &SideRun, shown: u64| match self.comparison.scale {
            Scale::Amount => amount(shown, &of.metric, self.form),
            Scale::Samples => count(shown, self.form),
            Scale::Share => format!("{} %", percent(shown, run.total)),
        };
        for (run, shown) in of.runs.iter().zip(shown_of_runs_of(self.refined, side)).take(MOST_RUNS)
        {
            let merged = match run.parts {
                1 => String::new(),
                parts => format!(", {parts} merged runs that count as one"),
            };
            writeln!(out, "         {:>9}  {}{merged}", amount(run, shown), printable(&run.name))?;
        }
        match of.runs.len().saturating_sub(MOST_RUNS) {
            0 => {}
            more => writeln!(out, "         and {more} more")?,
        }
        let shown = total(self.refined);
        let deviation = shown.deviation(side, self.form).unwrap_or_default();
        let (mean, unit) = match self.comparison.scale {
            Scale::Share => (shown.amount(side, self.form), " %"),
            Scale::Amount | Scale::Samples => (shown.amount(side, self.form), ""),
        };
        let what = match self.options.refinement {
            Some(_) => "mean of what is shown",
            None => "mean",
        };
        let mean = format!("{mean}{unit}");
        writeln!(out, "         {mean:>9}  {what}, standard deviation {deviation}{unit}")
    }

    /// Why there are no rows.
    fn nothing(&self) -> String {
        if shown_of_sides(self.refined) == [0, 0] {
            return "Nothing is shown: the refinement takes out every sample of both.".to_owned();
        }
        if self.options.limit == Some(0) {
            return "--limit 0 leaves no rows.".to_owned();
        }
        let row = self.options.view.definition().row;
        let share = self.limits.share;
        format!("No {row} differs by {share}% of the total; --threshold 0 shows all.")
    }

    fn table(&self, listing: &Listing, out: &mut impl Write) -> io::Result<()> {
        let mut columns = self.basis.on_page(self.options.view.cost());
        let has_edges = self.options.edges && self.comparison.edges_compare();
        columns.retain(|column| has_edges || !column.definition().unit.is_of_edges());
        // A mark stands before the numbers.
        let mut heads = vec![String::new()];
        heads.extend(columns.iter().map(|column| column.heading(&self.basis).into_owned()));
        let line = |line: &Line| {
            let cells = columns.iter().map(|column| column.text_of(&self.basis, &line.row));
            [self.mark(line).to_owned()].into_iter().chain(cells).collect()
        };
        let cells: Vec<Vec<String>> = listing.lines.iter().map(line).collect();
        let aligned = Aligned::of_numbers(heads.len(), cells.iter().chain([&heads]));
        let title = title(self.options.view, self.options.table.as_ref());
        aligned.write(&heads, &printable(title), out)?;
        listing.lines.iter().zip(&cells).try_for_each(|(line, cells)| {
            let indent = " ".repeat(line.depth as usize);
            aligned.write(cells, &format!("{indent}{}", self.name(line)), out)
        })
    }

    /// What says that a row differs by more than noise, and in which direction.
    fn mark(&self, line: &Line) -> &'static str {
        let of = Difference::new(self.comparison, self.options.view.cost().of_runs(&line.row));
        match (of.is_significant(), of.change(), self.form) {
            (true, Change::New | Change::More, Form::Unicode) => "▲",
            (true, Change::Gone | Change::Less, Form::Unicode) => "▼",
            (true, Change::New | Change::More, Form::Ascii) => "+",
            (true, Change::Gone | Change::Less, Form::Ascii) => "-",
            _ => "",
        }
    }

    /// Name and kind of a row, and where it is unless that makes the line long.
    fn name(&self, line: &Line) -> String {
        match line.row.kind {
            FrameKind::Root => "(no caller)".to_owned(),
            _ => name_of(self.refined, &line.row, LONG_NAME),
        }
    }

    /// What is left out and how to see it, and what the columns mean.
    fn footing(&self, listing: &Listing, out: &mut impl Write) -> io::Result<()> {
        let form = self.form;
        let mut notes = Vec::new();
        let left_out: usize = listing.all_left_out().map(LeftOut::rows).sum();
        if left_out > 0 && !listing.lines.is_empty() {
            let rows = counted(left_out as u64, "row", form);
            let limit = if listing.lines.len() >= self.limits.rows { ", --limit" } else { "" };
            let what = match self.comparison.scaling {
                Some(_) if !limit.is_empty() => "that lose less",
                _ => "with smaller differences",
            };
            notes.push(format!("Left out: {rows} {what} (--threshold{limit})."));
        }
        if listing.left_out.deeper {
            notes.push("Left out: what is below the last level (--depth).".to_owned());
        }
        notes.extend(unexplored(listing.not_looked_into, form));
        if !listing.lines.is_empty() {
            let (marks, noise, interval) = match form {
                Form::Unicode => ("▲ ▼", "±2σ", "±95%"),
                Form::Ascii => ("+ -", "+-2sd", "+-95%"),
            };
            notes.push(match noise_by(self.comparison) {
                None => format!(
                    "{marks} mark what differs by more than {noise}, the noise of sampling; runs may \
                     vary by more."
                ),
                Some(by) => format!(
                    "{marks} mark what differs by more than the noise beside it, so hardly by chance. \
                     {}.\nOf 100 such intervals ({interval}), 95 hold the true difference, by {by}.",
                    match self.comparison.scale {
                        Scale::Share => "Shares are of all runs together",
                        Scale::Amount | Scale::Samples => "Amounts are means per run",
                    },
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
