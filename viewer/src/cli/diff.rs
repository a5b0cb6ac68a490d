//! `csprof diff`

use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};

use super::appearance::Appearance;
use super::derive::Derive;
use super::exit_code::{self, WrongUsage};
use super::named_view::NamedView;
use super::open::{Compare, RunsOptions, applied, joined, parsed};
use super::report::percent;
use super::rows::{RowChoice, grain};
use super::saved_stages::{Begun, SavedStages};
use super::sort::compared_column;
use crate::export::{FORMATS, format};
use crate::print;
use crate::profile::Profile;
use crate::profile::comparison::{BASE, OTHER, Rename, Scale};
use crate::refine::{Grain, Refined, Stage, unwatched};
use crate::report::Options;
use crate::report::diff::{csv, json, summary, text, total};
use crate::set_files::SetFiles;
use crate::views::Sort;
use crate::views::View;
use crate::views::columns::{Column, Id};
use crate::views::difference::unrelated;
use crate::views::number::Form;
use crate::views::places::places;

const EXAMPLES: &str = "\
Call paths are aligned by function and load module; lines, addresses and versions of libraries do \
not matter. Each sample stands for its period, so runs of different rates compare; edge counts \
compare at equal periods only. ±2σ is what sampling alone makes of two equal runs in 95 of 100 \
cases: 2·√(b + o) samples for b and o of them (Poisson), an upper bound for timers. Of 0 samples, \
3.7 may be expected (-ln 0.025), so 0 and o differ by noise up to √(3.7² + 4·o).

With --with, each side has several runs: amounts are means per run, and the noise is the spread \
between runs: ±95% is the interval in which the true difference is in 95 of 100 cases (Welch's t). \
Where one side has one run, its spread is taken to be that of the other, or the noise of sampling \
if that is more. A column of runs takes 72 bytes for each row.

With --scaling, expected is what OTHER should cost on its ranks or threads, and the difference is \
the loss: beyond what BASE cost (strong), or that times the ratio of their numbers (weak). Compared \
is what the samples of all ranks and threads stand for: CPU time with `cputime`; elapsed time of all \
threads with `realtime`, whether they run or wait. --workers gives the numbers where they are not \
counted right. Where --limit leaves rows out, those that lose most are shown.

JSON: {unit, refined, base, other, delta, noise, rows}; base and other are {file, command, source, \
period, period_unit, lost, total, shown, out, samples: {total, shown, out}}; a row is {depth, \
function, module, file, line, kind, base, other, delta, noise, change, significant}, with \
{inclusive, exclusive} in base (with edges), other (with edges), delta and noise. Integers, in \
unit; means of counts have decimals, as many as tell them apart. Edges are null where sides have \
different periods or numbers of runs. With --derive also {derived: [{name, formula, unit}]}, and \
in rows {derived: {NAME: {base, other, delta, excl_base, excl_other, excl_delta}}}. With several \
runs also {low, high, noise_by}, in base and other {runs, deviation}, in rows low and high; with \
--scaling {scaling, workers, expected}, in rows expected and loss_percent.

--derive computes a formula of each side and subtracts; of several runs, of their means. It has no \
noise, and the configuration file's formulas are shown, too.

Exit codes: 0 compared, 1 failed or --fail-above, 2 wrong usage.

Examples:
  csprof diff before.csprof after.csprof
  csprof diff before.csprof after.csprof --view flat --refine 'through MPI_*'
  csprof diff a1.csprof a2.csprof a3.csprof --with b1.csprof b2.csprof b3.csprof
  csprof diff --scaling strong --view flat 4.csprof 16.csprof
  csprof diff before.csprof after.csprof --normalize --match 'parse_(.*)=read_$1'
  csprof diff before.csprof after.csprof --derive 'ipc = instructions / cycles'
  csprof diff before.csprof after.csprof --format html > diff.html
  csprof diff before.csprof after.csprof --summary > summary.md
  csprof diff before.csprof after.csprof --fail-above 5% --format json > diff.json";

/// Show what two profiles differ in
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Diff {
    /// BASE and OTHER, two saved profiles: OTHER is compared with BASE; `-` reads one from standard
    /// input. With --with, all runs of BASE
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    #[command(flatten, next_help_heading = "Selection")]
    runs: RunsOptions,
    #[command(flatten, next_help_heading = "Rows")]
    derive: Derive,
    /// What the rows are
    #[arg(long, help_heading = "Rows", value_parser = NamedView::of_comparison(), default_value = "top-down")]
    view: NamedView,
    /// Refine the call paths of both first: `through MPI_* | hide module:libomp*`; several are
    /// applied one after the other
    #[arg(long, help_heading = "Selection", value_name = "TEXT")]
    refine: Vec<String>,
    #[command(flatten, next_help_heading = "Selection")]
    saved: SavedStages,
    /// What is compared: a sample source, such as `cputime`, or `samples`; of several, the first
    /// that both have unless it is named
    #[arg(long, help_heading = "Selection", value_name = "NAME")]
    metric: Option<String>,
    /// Compare shares of what each side measured instead of amounts
    #[arg(long, help_heading = "Rows")]
    normalize: bool,
    /// What a row stands for besides functions
    #[arg(long, help_heading = "Rows", value_parser = grain(BY))]
    by: Option<Grain>,
    /// Take functions whose whole name matches the regular expression OLD for NEW, which may hold
    /// $1; may be given again
    #[arg(long = "match", help_heading = "Rows", value_name = "OLD=NEW", value_parser = Rename::parse)]
    renames: Vec<Rename>,
    /// What comes first
    #[arg(long, help_heading = "Rows", value_parser = compared_column(), default_value = "delta")]
    sort: Id,
    #[command(flatten, next_help_heading = "Rows")]
    rows: RowChoice,
    /// Show this many levels of the tree
    #[arg(long, help_heading = "Rows", value_name = "N")]
    depth: Option<u32>,
    /// Show at most this many rows, those that differ most, or with --scaling lose most [default:
    /// 60 in text, all for machines]
    #[arg(long, help_heading = "Rows", value_name = "N")]
    limit: Option<usize>,
    /// Show rows that differ by at least this share of the total, or have such a row below them
    /// [default: 1 in text, 0 for machines]
    #[arg(long, help_heading = "Rows", value_name = "P%", value_parser = percent, allow_negative_numbers = true)]
    threshold: Option<f64>,
    /// Show edge counts in the text, too
    #[arg(long, help_heading = "Rows")]
    edges: bool,
    /// Form of the output; colors of pictures say what is more or less, and by more than noise
    #[arg(long, help_heading = "Output", value_parser = format_parser(), default_value = "text")]
    format: Format,
    /// Print an outline in Markdown for a pull request: the total, and the paths that grew, shrank,
    /// came or went by more than noise
    #[arg(long, help_heading = "Output", conflicts_with_all = [
        "view", "by", "sort", "reverse", "open", "path", "extended", "upward", "depth", "limit",
        "threshold", "edges", "format",
    ])]
    summary: bool,
    /// Exit with 1 if what is shown of OTHER costs more than that of BASE, by this many percent
    /// and by more than noise
    #[arg(long, help_heading = "Output", value_name = "P%", value_parser = growth)]
    fail_above: Option<f64>,
    /// Read what is left of damaged profiles; what is missing is counted as lost
    #[arg(long)]
    salvage: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    Text,
    Json,
    Csv,
    /// The call tree; colors say what is more or less, and by more than noise.
    Picture(&'static format::Format),
}

/// Forms of rows and pictures by name, each with what the help says of it.
fn format_parser() -> impl TypedValueParser<Value = Format> {
    let rows = [
        ("text", "A page for people", Format::Text),
        ("json", "One object, with all rows in display order", Format::Json),
        ("csv", "One line for each row", Format::Csv),
    ];
    let pictures = FORMATS.into_iter().filter(|format| format.is_picture);
    let pictures = pictures.map(|format| (format.name, format.help, Format::Picture(format)));
    let offered: Vec<_> = rows.into_iter().chain(pictures).collect();
    let values = offered.iter().map(|(name, help, _)| PossibleValue::new(*name).help(*help));
    PossibleValuesParser::new(values.collect::<Vec<_>>())
        .map(move |name| offered.iter().find(|of| of.0 == name).map_or(Format::Text, |of| of.2))
}

/// What `--by` names.
const BY: [(Grain, &str); 3] = [
    (Grain::Line, "The line of a function that was executing"),
    (Grain::File, "The source file"),
    (Grain::Module, "The load module"),
];

impl Diff {
    /// Whether the options go together, whatever the profiles.
    ///
    /// # Errors
    ///
    /// [`WrongUsage`] if they do not.
    pub(super) fn check(&self) -> Result<(), WrongUsage> {
        self.rows.check(self.view == NamedView::Tables, false)?;
        let limits = self.depth.is_some() || self.limit.is_some() || self.threshold.is_some();
        let chosen = limits || self.rows.reverse || self.rows.open().is_some();
        let is_picture = matches!(self.format, Format::Picture(_));
        if is_picture && (self.view != NamedView::TopDown || chosen || self.edges) {
            let pictures = FORMATS.iter().filter(|format| format.is_picture);
            let names = pictures.map(|format| format.name).collect::<Vec<_>>().join(" and ");
            return Err(WrongUsage(format!(
                "--format {names} show all call paths: of the options that choose rows, --refine is \
                 for them"
            )));
        }
        Ok(())
    }

    /// Prints what the profiles differ in.
    ///
    /// # Errors
    ///
    /// When a profile cannot be read, they do not compare, the refinement does not apply, or
    /// output fails.
    pub fn run(&self, appearance: Appearance) -> Result<ExitCode> {
        self.check()?;
        let files = self.sides()?;
        let metric = self.metric.as_deref().filter(|name| *name != "samples");
        let (renames, RunsOptions { scaling, workers, .. }) =
            (&self.renames[..], self.runs.clone());
        let usual = Compare::usual(self.salvage, self.saved);
        let derive = Some(&self.derive);
        let compare = Compare { metric, renames, scaling, workers, derive, ..usual };
        let mut profile = compare.open(files)?;
        let scale = self.scale(&profile)?;
        if let Some(comparison) = &mut profile.comparison {
            comparison.scale = scale;
        }
        let (refined, options) = self.prepare(&profile, appearance)?;
        let is_told = matches!(self.format, Format::Json | Format::Csv);
        if let Some(doubt) = unrelated(&profile).filter(|_| is_told) {
            print::message(format_args!("{doubt}"))?;
        }
        let mut out = print::output(self.escaping());
        self.write(&refined, &options, &mut out).context(print::CANNOT_PRINT)?;
        let all = total(&refined);
        let above = self.fail_above.filter(|&most| {
            all.is_significant() && all.growth().is_none_or(|growth| growth > most)
        });
        if let Some(most) = above.filter(|_| !all.delta(Form::Ascii).starts_with('-')) {
            let growth = all.growth_with_unit(Form::Ascii);
            // Of several runs, the first and how many more.
            let name = |side: usize| &all.comparison().sides[side].name;
            let expected = if self.runs.scaling.is_some() { "expected by " } else { "" };
            print::message(format_args!(
                "{} costs {}{} more{} than {expected}{} ({growth}), and --fail-above allows {most}%",
                name(OTHER),
                all.delta(Form::Ascii).trim_start_matches('+'),
                all.unit_behind(),
                if all.comparison().has_several_runs() { " per run" } else { "" },
                name(BASE),
            ))?;
            return Ok(ExitCode::FAILURE);
        }
        Ok(exit_code::DONE)
    }

    /// The files of BASE and of OTHER.
    fn sides(&self) -> Result<[&[PathBuf]; 2]> {
        match (&self.files[..], &self.runs.with[..]) {
            ([_, _], []) => Ok([&self.files[..1], &self.files[1..]]),
            (base, []) => Err(WrongUsage(format!(
                "two files are compared, and {} given; several runs of a side are compared by \
                 `csprof diff A1 A2 A3 --with B1 B2 B3`",
                if base.len() == 1 { "one is".to_owned() } else { format!("{} are", base.len()) }
            ))
            .into()),
            sides => Ok(sides.into()),
        }
    }

    /// How characters of the output are escaped.
    pub(super) fn escaping(&self) -> print::Escaping {
        match self.format {
            Format::Json => print::Escaping::Json,
            Format::Text | Format::Csv | Format::Picture(_) => print::Escaping::Text,
        }
    }

    /// Writes what was [prepared](Self::prepare).
    ///
    /// # Errors
    ///
    /// Those of `out`.
    pub(super) fn write(
        &self,
        refined: &Refined,
        options: &Options,
        out: &mut impl Write,
    ) -> io::Result<()> {
        match self.format {
            _ if self.summary => summary::write(refined, options, out),
            Format::Text => text::write(refined, options, out),
            Format::Json => json::write(refined, options, out),
            Format::Csv => csv::write(refined, options, out),
            Format::Picture(format) => {
                let refinement = options.refinement.clone();
                format.write(refined, &format::Options { refinement, ..Default::default() }, out)
            }
        }?;
        out.flush()
    }

    /// What of a comparison to report, and which rows.
    ///
    /// # Errors
    ///
    /// When the refinement or the path of a table is not one of these profiles'.
    pub fn prepare(&self, profile: &Profile, appearance: Appearance) -> Result<(Refined, Options)> {
        self.check()?;
        let text = joined(&self.refine);
        let (begun, refined) = self.begun(&text, profile)?;
        let refined = applied(refined, &begun, &text)?;
        if self.format == Format::Csv {
            begun.tell()?;
        }
        let refinement = begun.refinement;
        let files = SetFiles::of(self.files.first().map(PathBuf::as_path));
        let table = self.rows.table(self.view == NamedView::Tables, &refined, &files)?;
        let view = self.view.rows();
        let refined = match self.view.places() {
            Some(grain) => unwatched(|watch| places(&refined, grain, watch)),
            // Loops are no functions, and nothing calls them.
            None if view == View::Callers => unwatched(|watch| refined.without_loops(watch)),
            None => refined,
        };
        let options = Options {
            view,
            depth: self.depth,
            limit: self.limit,
            threshold: self.threshold,
            sort: Some(Sort {
                key: Column::comparing(self.sort, view.cost()),
                reversed: self.rows.reverse,
            }),
            open: self.rows.open(),
            table,
            edges: self.edges,
            refinement: (!refinement.stages.is_empty()).then(|| refinement.to_string()),
            ascii: appearance.ascii,
            ..Options::default()
        };
        Ok((refined, options))
    }

    /// What is compared.
    fn scale(&self, profile: &Profile) -> Result<Scale> {
        let Some(comparison) = &profile.comparison else { return Ok(Scale::Amount) };
        match self.metric.as_deref() {
            _ if self.normalize => Ok(Scale::Share),
            Some("samples") if comparison.same_period() => Ok(Scale::Samples),
            Some("samples") => Err(WrongUsage(
                "--metric samples: a sample stands for different amounts in these profiles; \
                 leave it out to compare time"
                    .to_owned(),
            )
            .into()),
            _ => Ok(Scale::Amount),
        }
    }

    fn begun(&self, text: &str, profile: &Profile) -> Result<(Begun, Refined)> {
        // BASE is what is there from one comparison to the next, so its sets count.
        let files = SetFiles::of(self.files.first().map(PathBuf::as_path));
        let (mut begun, refined) = parsed(text, profile, self.saved, &files)?;
        begun.refinement.stages.extend(self.by.map(Stage::By));
        Ok((begun, refined))
    }
}

/// `5`, `0.5`, `5%`, `150%`.
fn growth(text: &str) -> Result<f64, String> {
    let number = text.strip_suffix('%').unwrap_or(text).trim();
    match number.parse::<f64>() {
        Ok(percent) if percent >= 0.0 && percent.is_finite() => Ok(percent),
        _ => Err("a growth in percent is a number from 0 on".into()),
    }
}
