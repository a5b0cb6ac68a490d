//! `csprof report`

use std::io::{self, BufWriter, Write};
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::{Args, ValueEnum};

use super::exit_code::WrongUsage;
use super::open::{ProfileFiles, Selection, tell_problems};
use super::{Appearance, CANNOT_PRINT, exit_code};
use crate::refine::Refined;
use crate::report::{self, Options, View};
use crate::views::sets::set_rows;

const EXAMPLES: &str = "\
Examples:
  csprof report run.csprof
  csprof report run.csprof --view callers --refine 'through MPI_*'
  csprof report rank0.csprof rank1.csprof
  csprof report run.csprof --format json | jq '.rows[0]'";

/// Print the hot call paths of a profile
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Report {
    #[command(flatten)]
    files: ProfileFiles,
    /// What the rows are
    #[arg(long, value_enum, default_value_t = ViewName::TopDown)]
    view: ViewName,
    #[command(flatten)]
    selection: Selection,
    /// Show this many levels of the tree
    #[arg(long, value_name = "N")]
    depth: Option<u32>,
    /// Show at most this many rows [default: 60 in text, all for machines]
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
    /// Show rows with at least this share, in percent [default: 1 in text, 0 for machines]
    #[arg(long, value_name = "P%", value_parser = percent, allow_negative_numbers = true)]
    threshold: Option<f64>,
    /// List the sets of frames that refinements can name (@mpi) and what they match here
    #[arg(long, conflicts_with_all = ["view", "depth", "limit", "threshold"])]
    sets: bool,
    /// Form of the output
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

/// Views by name.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(super) enum ViewName {
    /// Calling contexts from the root
    TopDown,
    /// Functions by cost, and who called them
    Callers,
    /// Functions by cost
    Flat,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(super) enum Format {
    /// A page for people
    Text,
    /// One object, with all rows in display order
    Json,
    /// One line for each row
    Csv,
}

impl From<ViewName> for View {
    fn from(name: ViewName) -> Self {
        match name {
            ViewName::TopDown => Self::TopDown,
            ViewName::Callers => Self::Callers,
            ViewName::Flat => Self::Flat,
        }
    }
}

impl Report {
    /// Prints the report.
    ///
    /// # Errors
    ///
    /// When the profile cannot be read, the refinement does not apply, or output fails.
    pub fn run(&self, appearance: Appearance) -> Result<ExitCode> {
        let profile = self.files.open()?;
        let refined = self.selection.apply_with(&profile, &self.files.set_files())?;
        if self.sets {
            return self.list_sets(&refined, appearance);
        }
        let options = Options {
            view: self.view.into(),
            measure: self.selection.measure(&profile)?,
            depth: self.depth,
            limit: self.limit,
            threshold: self.threshold,
            refinement: self.selection.refinement(),
            ascii: appearance.ascii,
        };
        let mut out = BufWriter::new(io::stdout().lock());
        let written = match self.format {
            Format::Text => report::text::write(&refined, &options, &mut out),
            Format::Json => report::json::write(&refined, &options, &mut out),
            Format::Csv => report::csv::write(&refined, &options, &mut out),
        };
        written.and_then(|()| out.flush()).context(CANNOT_PRINT)?;
        Ok(exit_code::DONE)
    }
}

impl Report {
    fn list_sets(&self, refined: &Refined<'_>, appearance: Appearance) -> Result<ExitCode> {
        let sets = self.files.set_files().load();
        tell_problems(&sets)?;
        let rows = set_rows(refined, &sets);
        let mut out = BufWriter::new(io::stdout().lock());
        let written = match self.format {
            Format::Text => report::sets::text(refined, &rows, appearance.ascii, &mut out),
            Format::Json => report::sets::json(refined, &rows, &mut out),
            Format::Csv => {
                return Err(WrongUsage("--sets has the formats text and json".into()).into());
            }
        };
        written.and_then(|()| out.flush()).context(CANNOT_PRINT)?;
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
