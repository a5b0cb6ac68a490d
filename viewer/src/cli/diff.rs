//! `csprof diff`

use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::{Args, ValueEnum};

use super::appearance::Appearance;
use super::exit_code::{self, WrongUsage};
use super::open::{applied, compared, parsed};
use super::report::percent;
use super::rows::{RowChoice, grain};
use super::saved_stages::{Begun, SavedStages};
use super::sort::compared_column;
use crate::export::{html, svg};
use crate::print;
use crate::profile::Profile;
use crate::profile::comparison::{Rename, Scale};
use crate::refine::{Grain, Refined, Stage, unwatched};
use crate::report::Options;
use crate::report::diff::{csv, json, summary, text, total};
use crate::set_files::SetFiles;
use crate::views::columns::{Column, Id};
use crate::views::difference::unrelated;
use crate::views::number::Form;
use crate::views::places::places;
use crate::views::{Sort, View};

const EXAMPLES: &str = "\
Call paths are aligned by function and load module; lines, addresses and versions of libraries do
not matter. Each sample stands for its period, so runs of different rates compare; edge counts
compare at equal periods only. ±2σ is what sampling alone makes of two equal runs in 95 of 100
cases: 2·√(b + o) samples for b and o of them (Poisson), an upper bound for timers.

JSON: {unit, refined, base, other, delta, noise, rows}; base and other are {file, command, source, period,
period_unit, lost, total, shown, out, samples: {total, shown, out}}; a row is {depth, function,
module, file, line, kind, base, other, delta, noise, change, significant}, with {inclusive,
exclusive} in base (with edges), other (with edges), delta and noise. Integers, in unit.

Exit codes: 0 compared, 1 failed or --fail-above, 2 wrong usage.

Examples:
  csprof diff before.csprof after.csprof
  csprof diff before.csprof after.csprof --view flat --refine 'through MPI_*'
  csprof diff before.csprof after.csprof --normalize --match 'parse_(.*)=read_$1'
  csprof diff before.csprof after.csprof --format html > diff.html
  csprof diff before.csprof after.csprof --summary > summary.md
  csprof diff before.csprof after.csprof --fail-above 5% --format json > diff.json";

/// Show what two profiles differ in
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Diff {
    /// The saved profile to compare with; `-` reads it from standard input
    #[arg(value_name = "BASE")]
    base: PathBuf,
    /// The saved profile that is compared
    #[arg(value_name = "OTHER")]
    other: PathBuf,
    /// What the rows are
    #[arg(long, value_enum, default_value_t = DiffView::TopDown)]
    view: DiffView,
    /// Refine the call paths of both first: `through MPI_* | hide module:libomp*`
    #[arg(long, value_name = "TEXT")]
    refine: Option<String>,
    #[command(flatten)]
    saved: SavedStages,
    /// What is compared: a sample source, such as `cputime`, or `samples`; of several, the first
    /// that both have unless it is named
    #[arg(long, value_name = "NAME")]
    metric: Option<String>,
    /// Compare shares of what each side measured instead of amounts
    #[arg(long)]
    normalize: bool,
    /// What a row stands for besides functions
    #[arg(long, value_parser = grain(BY))]
    by: Option<Grain>,
    /// Take functions whose whole name matches the regular expression OLD for NEW, which may hold
    /// $1; may be given again
    #[arg(long = "match", value_name = "OLD=NEW", value_parser = Rename::parse)]
    renames: Vec<Rename>,
    /// What comes first
    #[arg(long, value_parser = compared_column(), default_value = "delta")]
    sort: Id,
    #[command(flatten)]
    rows: RowChoice,
    /// Show this many levels of the tree
    #[arg(long, value_name = "N")]
    depth: Option<u32>,
    /// Show at most this many rows, those that differ most [default: 60 in text, all for machines]
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
    /// Show rows that differ by at least this share of the total, or have such a row below them
    /// [default: 1 in text, 0 for machines]
    #[arg(long, value_name = "P%", value_parser = percent, allow_negative_numbers = true)]
    threshold: Option<f64>,
    /// Show edge counts in the text, too
    #[arg(long)]
    edges: bool,
    /// Form of the output
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    /// Print an outline in Markdown for a pull request: the total, and the paths that grew, shrank,
    /// came or went by more than noise
    #[arg(long, conflicts_with_all = [
        "view", "by", "sort", "reverse", "open", "path", "extended", "upward", "depth", "limit",
        "threshold", "edges", "format",
    ])]
    summary: bool,
    /// Exit with 1 if what is shown of OTHER costs more than that of BASE, by this many percent
    /// and by more than noise
    #[arg(long, value_name = "P%", value_parser = growth)]
    fail_above: Option<f64>,
    /// Read what is left of damaged profiles; what is missing is counted as lost
    #[arg(long)]
    salvage: bool,
}

/// Views by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum DiffView {
    /// Calling contexts from the root
    TopDown,
    /// Functions by cost, and who called them
    Callers,
    /// Functions by cost
    Flat,
    /// Load modules, and in them files, functions, lines
    Modules,
    /// Source files, and in them functions, lines
    Files,
    /// Functions, and in them lines
    Lines,
    /// What a path costs when it is made longer by one function: Hall's tables; see --path
    Tables,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// A page for people
    Text,
    /// One object, with all rows in display order
    Json,
    /// One line for each row
    Csv,
    /// The call tree as a picture; colors say what is more or less, and by more than noise
    Svg,
    /// The same as a page to click through
    Html,
}

impl Format {
    fn is_picture(self) -> bool {
        matches!(self, Self::Svg | Self::Html)
    }
}

/// What `--by` names.
const BY: [(Grain, &str); 3] = [
    (Grain::Line, "The line of a function that was executing"),
    (Grain::File, "The source file"),
    (Grain::Module, "The load module"),
];

impl Diff {
    /// Prints what the profiles differ in.
    ///
    /// # Errors
    ///
    /// When a profile cannot be read, they do not compare, the refinement does not apply, or
    /// output fails.
    pub fn run(&self, appearance: Appearance) -> Result<ExitCode> {
        let files = [&self.base, &self.other];
        let metric = self.metric.as_deref().filter(|name| *name != "samples");
        let (renames, saved) = (&self.renames, self.saved);
        let mut profile = compared(files, self.salvage, metric, renames, Scale::Amount, saved)?;
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
            print::message(format_args!(
                "{} costs {} more than {} ({growth}), and --fail-above allows {most}%",
                self.other.display(),
                all.delta(Form::Ascii).trim_start_matches('+'),
                self.base.display(),
            ))?;
            return Ok(ExitCode::FAILURE);
        }
        Ok(exit_code::DONE)
    }

    /// How characters of the output are escaped.
    pub(super) fn escaping(&self) -> print::Escaping {
        match self.format {
            Format::Json => print::Escaping::Json,
            Format::Text | Format::Csv | Format::Svg | Format::Html => print::Escaping::Text,
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
        let refinement = || options.refinement.clone();
        match self.format {
            _ if self.summary => summary::write(refined, options, out),
            Format::Text => text::write(refined, options, out),
            Format::Json => json::write(refined, options, out),
            Format::Csv => csv::write(refined, options, out),
            Format::Svg => svg::write(refined, refinement(), out),
            Format::Html => html::write(refined, refinement(), out),
        }?;
        out.flush()
    }

    /// What of a comparison to report, and which rows.
    ///
    /// # Errors
    ///
    /// When the refinement or the path of a table is not one of these profiles'.
    pub fn prepare(&self, profile: &Profile, appearance: Appearance) -> Result<(Refined, Options)> {
        let limits = self.depth.is_some() || self.limit.is_some() || self.threshold.is_some();
        let chosen = limits || self.rows.reverse || self.rows.open().is_some();
        if self.format.is_picture() && (self.view != DiffView::TopDown || chosen || self.edges) {
            let cause = "--format svg and html show all call paths: of the options that choose rows, \
                         --refine is for them";
            return Err(WrongUsage(cause.into()).into());
        }
        let text = self.refine.as_deref().unwrap_or("");
        let (begun, refined) = self.begun(text, profile)?;
        let refined = applied(refined, &begun, text)?;
        if self.format == Format::Csv {
            begun.tell()?;
        }
        let refinement = begun.refinement;
        let files = SetFiles::of(Some(&self.base));
        let table = self.rows.table(self.view == DiffView::Tables, &refined, &files)?;
        let (view, refined) = match self.view {
            DiffView::TopDown => (View::TopDown, refined),
            DiffView::Callers => (View::Callers, refined),
            DiffView::Flat => (View::Flat, refined),
            DiffView::Modules => {
                (View::Places, unwatched(|watch| places(&refined, Grain::Module, watch)))
            }
            DiffView::Files => {
                (View::Places, unwatched(|watch| places(&refined, Grain::File, watch)))
            }
            DiffView::Lines => {
                (View::Places, unwatched(|watch| places(&refined, Grain::Function, watch)))
            }
            DiffView::Tables => (View::Tables, refined),
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
        let files = SetFiles::of(Some(&self.base));
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
