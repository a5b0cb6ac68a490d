//! `csprof report`

use std::io::Write;
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};

use super::appearance::Appearance;
use super::derive::Derive;
use super::exit_code::{self, WrongUsage};
use super::named_view::NamedView;
use super::open::{ProfileFiles, Selection, tell_problems};
use super::rows::{RowChoice, grain};
use super::sort::{SortBy, SortParser};
use super::source_paths::SourcePaths;
use crate::print;
use crate::profile::Profile;
use crate::refine::{Axis, Grain, Refined, Stage, unwatched};
use crate::report::{self, Options, contexts, distribution, waits};
use crate::set_files::SetFiles;
use crate::views::dimension::{TIME, but_processes};
use crate::views::places::places;
use crate::views::sets::set_rows;
use crate::views::{Cost, Sort, View};

const EXAMPLES: &str = "\
Examples:
  csprof report run.csprof
  csprof report run.csprof --view callers --refine 'through MPI_*'
  csprof report run.csprof --view modules
  csprof report rank0.csprof rank1.csprof
  csprof report run.csprof --view threads --refine 'through MPI_*'
  csprof report run.csprof --metric realtime --sort cputime
  csprof report run.csprof --view tables --path 'main > solve' --extended
  csprof report run.csprof --view butterfly --path solve
  csprof report run.csprof --view distribution --path 'solve > MPI_Wait' --over rank
  csprof report run.csprof --view waits --metric realtime
  csprof report run.csprof --source solve --path-map /build/app=/home/me/app
  csprof report run.csprof --format json | jq '.rows[0]'";

/// Print the hot call paths of a profile
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Report {
    #[command(flatten)]
    files: ProfileFiles,
    #[command(flatten, next_help_heading = "Rows")]
    derive: Derive,
    /// What the rows are
    #[arg(long, help_heading = "Rows", value_enum, default_value_t = NamedView::TopDown)]
    view: NamedView,
    /// With --view flat: as the views modules, files and lines
    #[arg(long, help_heading = "Rows", value_parser = grain(PLACES), value_name = "PLACE")]
    by: Option<Grain>,
    #[command(flatten, next_help_heading = "Selection")]
    selection: Selection,
    /// Show this many levels of the tree
    #[arg(long, help_heading = "Rows", value_name = "N")]
    depth: Option<u32>,
    /// Show at most this many rows [default: 60 in text, all for machines]
    #[arg(long, help_heading = "Rows", value_name = "N")]
    limit: Option<usize>,
    /// Show rows with at least this share, in percent, of what is shown of the metric or of one of
    /// several [default: 1 in text, 0 for machines]
    #[arg(long, help_heading = "Rows", value_name = "P%", value_parser = percent, allow_negative_numbers = true)]
    threshold: Option<f64>,
    /// Order rows by this column [default: time in top-down and tables, excl in callers and flat];
    /// of several metrics also by one of them, such as `realtime` or, exclusive, `realtime:excl`
    #[arg(long, help_heading = "Rows", value_name = "COLUMN", value_parser = SortParser)]
    sort: Option<SortBy>,
    /// What percentages in text are of; `%` changes it in the viewer
    #[arg(long, help_heading = "Output", value_enum, value_name = "WHAT", default_value_t = Whole::All)]
    percent: Whole,
    #[command(flatten, next_help_heading = "Rows")]
    rows: RowChoice,
    #[arg(long, help_heading = "Rows", value_parser = over(), value_name = "PEERS", help = concat!(
        "With --view distribution: over these peers [default: ranks, else processes, ",
        but_processes!(), ", time]"
    ))]
    over: Option<String>,
    /// With --view distribution: exclusive cost
    #[arg(long, help_heading = "Rows")]
    exclusive: bool,
    /// Add columns: how each row's inclusive cost is spread over ranks (else processes, else
    /// threads), with a character or number for each, or for each eighth of them; and over phases
    /// or slices of time, if there are any, for each or for each twelfth
    #[arg(long, help_heading = "Rows")]
    spread: bool,
    /// List the sets of frames that refinements can name (@mpi) and what they match here
    #[arg(long, help_heading = "Output", conflicts_with_all = [
        "view", "depth", "limit", "threshold", "open", "sort", "by", "percent", "reverse", "path",
        "extended", "upward", "over", "exclusive", "spread",
    ])]
    sets: bool,
    /// Print the source of this function with the cost of each line
    #[arg(long, help_heading = "Output", value_name = "FUNCTION", conflicts_with_all = [
        "view", "depth", "limit", "threshold", "open", "sort", "by", "reverse", "path", "extended",
        "upward", "sets", "over", "exclusive", "spread",
    ])]
    source: Option<String>,
    #[command(flatten, next_help_heading = "Output")]
    paths: SourcePaths,
    /// Form of the output
    #[arg(long, help_heading = "Output", value_enum, default_value_t = Format::Text)]
    format: Format,
    /// With --format json or csv: a row for each address (as `by address`), with the build id of
    /// its load module and the line that is executed or called from, beside the function's own
    #[arg(long, help_heading = "Rows", conflicts_with = "sets")]
    addresses: bool,
}

/// What `--over` names.
fn over() -> impl TypedValueParser<Value = String> {
    let names = Axis::ALL.iter().map(|&(_, name)| name).chain([TIME]);
    PossibleValuesParser::new(names.collect::<Vec<_>>())
}

/// What `--by` names.
const PLACES: [(Grain, &str); 3] = [
    (Grain::Module, "Load modules"),
    (Grain::File, "Source files"),
    (Grain::Function, "Functions"),
];

/// What percentages are of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Whole {
    /// All that was measured
    All,
    /// What is shown
    Shown,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// A page for people
    Text,
    /// One object, with all rows in display order
    Json,
    /// One line for each row
    Csv,
}

impl Format {
    /// Whether the output says how it is refined.
    fn shows_refinement(self) -> bool {
        self != Self::Csv
    }

    /// How its characters are escaped.
    fn of_output(self) -> print::Escaping {
        match self {
            Self::Json => print::Escaping::Json,
            Self::Text | Self::Csv => print::Escaping::Text,
        }
    }
}

impl Report {
    /// Whether the options go together, whatever the profile.
    ///
    /// # Errors
    ///
    /// [`WrongUsage`] if they do not.
    pub(super) fn check(&self) -> Result<(), WrongUsage> {
        let is_of_threads = self.view == NamedView::Threads;
        let orders = self.sort.is_some() || self.rows.reverse || self.rows.open().is_some();
        let is_distribution = self.view == NamedView::Distribution;
        let is_tables = self.view == NamedView::Tables;
        let is_butterfly = self.view == NamedView::Butterfly;
        let is_of_waits = self.view == NamedView::Waits;
        let is_of_peers = is_of_threads || is_distribution || is_of_waits;
        let has_rows = self.format != Format::Text && !is_of_peers;
        self.rows.check(is_tables, is_distribution || is_butterfly)?;
        let cause = if is_of_peers && orders {
            "--sort, --reverse and --open are for views of functions"
        } else if (is_distribution || is_butterfly || is_of_waits) && self.depth.is_some() {
            "--depth is for views of functions"
        } else if is_butterfly && !self.rows.has_path() {
            "--view butterfly is of one function, by --path"
        } else if (self.over.is_some() || self.exclusive) && !is_distribution {
            "--over and --exclusive are for --view distribution"
        } else if self.exclusive && !self.rows.has_path() {
            "--exclusive is of one function or path, by --path: all that is shown has no own code"
        } else if self.spread
            && (is_of_peers || is_tables || is_butterfly || self.places().is_some())
        {
            "--spread is for the views top-down, callers and flat"
        } else if self.by.is_some() && self.view != NamedView::Flat {
            "--by is for --view flat; --view modules is the same as --view flat --by module, and \
             --refine 'by module' is for every view"
        } else if self.addresses && !has_rows {
            "--addresses is for rows of functions with --format json or csv; text shows addresses \
             by --refine 'by address'"
        } else if self.addresses && (is_butterfly || self.source.is_some()) {
            "--addresses splits functions; --view butterfly and --source are of whole ones"
        } else if self.source.is_some() && self.format == Format::Csv {
            "--source has the formats text and json; --refine 'by line' --view flat has the same \
             numbers in csv"
        } else if self.sets && self.format == Format::Csv {
            "--sets has the formats text and json"
        } else {
            return Ok(());
        };
        Err(WrongUsage(cause.into()))
    }

    /// Prints the report.
    ///
    /// # Errors
    ///
    /// When the profile cannot be read, the refinement does not apply, or output fails.
    pub fn run(&self, appearance: Appearance) -> Result<ExitCode> {
        self.check()?;
        let profile = self.derive.begun(self.files.open(self.selection.saved)?)?;
        let files = self.files.set_files();
        if self.sets {
            let (refined, _) = self.selection.apply(&profile, &files, false)?;
            return self.list_sets(&refined, appearance);
        }
        self.write(&profile, appearance, &files, &mut print::output(self.escaping()))?;
        Ok(exit_code::DONE)
    }

    /// How characters of the output are escaped.
    pub(super) fn escaping(&self) -> print::Escaping {
        self.format.of_output()
    }

    /// Writes the report of a profile.
    ///
    /// # Errors
    ///
    /// When the refinement does not apply, or output fails.
    pub(super) fn write(
        &self,
        profile: &Profile,
        appearance: Appearance,
        files: &SetFiles,
        out: &mut impl Write,
    ) -> Result<()> {
        self.check()?;
        let profile = &self.derive.added(profile.clone())?;
        if self.view == NamedView::Distribution {
            return self.write_distribution(profile, appearance, files, out);
        }
        let (refined, options) = self.prepare(profile, appearance, files)?;
        if let Some(name) = &self.source {
            return self.print_source(&refined, &options, name, out);
        }
        let written = match (self.view, self.format) {
            (NamedView::Threads, Format::Text) => contexts::text(&refined, &options, out),
            (NamedView::Threads, Format::Json) => contexts::json(&refined, &options, out),
            (NamedView::Threads, Format::Csv) => contexts::csv(&refined, &options, out),
            (NamedView::Waits, Format::Text) => waits::text(&refined, &options, out),
            (NamedView::Waits, Format::Json) => waits::json(&refined, &options, out),
            (NamedView::Waits, Format::Csv) => waits::csv(&refined, &options, out),
            (_, Format::Text) => report::text::write(&refined, &options, out),
            (_, Format::Json) => report::json::write(&refined, &options, out),
            (_, Format::Csv) => report::csv::write(&refined, &options, out),
        };
        written.and_then(|()| out.flush()).context(print::CANNOT_PRINT)
    }

    fn write_distribution(
        &self,
        profile: &Profile,
        appearance: Appearance,
        files: &SetFiles,
        out: &mut impl Write,
    ) -> Result<()> {
        let (refined, refinement) =
            self.selection.apply(profile, files, self.format.shows_refinement())?;
        let options = Options {
            measure: self.selection.measure(profile)?,
            limit: self.limit,
            threshold: self.threshold,
            refinement,
            ascii: appearance.ascii,
            percent_of_shown: self.percent == Whole::Shown,
            ..Options::default()
        };
        let cost = if self.exclusive { Cost::Exclusive } else { Cost::Inclusive };
        let path = self.rows.path(files)?;
        let report = distribution::Report::new(&refined, path, self.over.as_deref(), cost);
        let report = report.map_err(WrongUsage)?;
        let written = match self.format {
            Format::Text => distribution::text(&refined, &report, &options, out),
            Format::Json => distribution::json(&refined, &report, &options, out),
            Format::Csv => distribution::csv(&refined, &report, &options, out),
        };
        written.and_then(|()| out.flush()).context(print::CANNOT_PRINT)
    }

    /// What the tree of places begins with, if rows are places.
    fn places(&self) -> Option<Grain> {
        self.view.places().or(self.by)
    }

    /// What of a profile to report, and which rows.
    ///
    /// # Errors
    ///
    /// When the refinement, the metric or the path of a table is not one of this profile's.
    pub fn prepare(
        &self,
        profile: &Profile,
        appearance: Appearance,
        files: &SetFiles,
    ) -> Result<(Refined, Options)> {
        let (refined, refinement) =
            self.selection.apply(profile, files, self.format.shows_refinement())?;
        let view = if self.places().is_some() { View::Places } else { self.view.rows() };
        let refined = match self.addresses {
            true => refined.then(&Stage::By(Grain::Address))?,
            false => refined,
        };
        let refined = match self.places() {
            Some(grain) => unwatched(|watch| places(&refined, grain, watch)),
            // Loops are no functions, and nothing calls them.
            None if view == View::Callers => unwatched(|watch| refined.without_loops(watch)),
            None => refined,
        };
        let (table, callers) = match view {
            View::Butterfly => {
                let (table, callers) = self.rows.butterfly(&refined, files)?;
                (Some((table, String::new())), callers)
            }
            _ => (self.rows.table(view == View::Tables, &refined, files)?, Vec::new()),
        };
        let usual = Sort::usual(view.cost(), profile);
        let key = self.sort.as_ref().map(|by| by.column(profile)).transpose()?;
        let options = Options {
            view,
            measure: self.selection.measure(profile)?,
            depth: self.depth,
            limit: self.limit,
            threshold: self.threshold,
            refinement,
            ascii: appearance.ascii,
            sort: Some(Sort { key: key.unwrap_or(usual.key), reversed: self.rows.reverse }),
            open: self.rows.open(),
            percent_of_shown: self.percent == Whole::Shown,
            addresses: self.addresses,
            spread: self.spread,
            edges: false,
            table,
            callers,
        };
        Ok((refined, options))
    }

    fn print_source(
        &self,
        refined: &Refined,
        options: &Options,
        name: &str,
        out: &mut impl Write,
    ) -> Result<()> {
        let function = report::source::function_named(refined, name).map_err(WrongUsage)?;
        let sources = self.paths.sources();
        let written = match self.format {
            Format::Json => report::source::json(refined, function, &sources, options, out),
            // `check` has refused CSV.
            _ => report::source::text(refined, function, &sources, options, out),
        };
        written.and_then(|()| out.flush()).context(print::CANNOT_PRINT)
    }

    fn list_sets(&self, refined: &Refined, appearance: Appearance) -> Result<ExitCode> {
        let sets = self.files.set_files().load();
        tell_problems(&sets)?;
        let rows = unwatched(|watch| set_rows(refined, &sets, watch));
        let mut out = print::output(self.format.of_output());
        let written = match self.format {
            Format::Text => report::sets::text(refined, &rows, appearance.ascii, &mut out),
            Format::Json => report::sets::json(refined, &rows, &mut out),
            // `check` has refused it.
            Format::Csv => Ok(()),
        };
        written.and_then(|()| out.flush()).context(print::CANNOT_PRINT)?;
        Ok(exit_code::DONE)
    }
}

/// `5`, `0.5`, `5%`.
pub(super) fn percent(text: &str) -> Result<f64, String> {
    let number = text.strip_suffix('%').unwrap_or(text).trim();
    match number.parse() {
        Ok(percent) if (0.0..=100.0).contains(&percent) => Ok(percent),
        _ => Err("a share in percent is a number from 0 to 100".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_between_nothing_and_all() {
        assert_eq!(percent("5%"), Ok(5.0));
        assert_eq!(percent("0.5"), Ok(0.5));
        for wrong in ["", "%", "101", "-1", "NaN", "half"] {
            assert!(percent(wrong).is_err(), "{wrong}");
        }
    }
}
