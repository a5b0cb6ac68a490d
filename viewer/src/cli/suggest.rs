//! `csprof suggest`

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::{Args, ValueEnum};

use super::appearance::Appearance;
use super::exit_code;
use super::open::{Compare, Selection, read_profile};
use crate::print;
use crate::profile::Profile;
use crate::report::{Options, suggest};
use crate::set_files::SetFiles;

const EXAMPLES: &str = "\
Each line is a part of the cost, why it is listed, and the path that leads there. Parts do not \
overlap, so together they are no more than there is. Reasons: much of the cost in one frame; an \
activation that costs more here than elsewhere, whatever its edge counts are within their bounds; \
cost spread over many callees; locks (@lock); of two profiles, a difference beyond noise. \
In the viewer, `!` shows the same, and Enter leads to the row in the tree.

Examples:
  csprof suggest run.csprof
  csprof suggest run.csprof --refine 'hide @start' --format json | jq '.suggestions[0].refine'
  csprof suggest before.csprof after.csprof";

/// List the call paths that are worth a look, and why
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Suggest {
    /// A saved profile; `-` reads it from standard input
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Another one: what differs from FILE to it
    #[arg(value_name = "OTHER")]
    other: Option<PathBuf>,
    #[command(flatten)]
    selection: Selection,
    /// Form of the output
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    /// Read what is left of damaged profiles; what is missing is counted as lost
    #[arg(long)]
    salvage: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Format {
    /// A page for people
    Text,
    /// One object
    Json,
}

impl Suggest {
    /// Prints the list.
    ///
    /// # Errors
    ///
    /// When a profile cannot be read, the refinement does not apply, or output fails.
    pub fn run(&self, appearance: Appearance) -> Result<ExitCode> {
        let profile = match &self.other {
            Some(other) => {
                let files = [std::slice::from_ref(&self.file), std::slice::from_ref(other)];
                Compare::usual(self.salvage, self.selection.saved).open(files)?
            }
            None => Profile::from_saved(read_profile(&self.file, self.salvage)?),
        };
        let files = SetFiles::of(Some(&self.file));
        let shows = matches!(self.format, Format::Text);
        let (refined, refinement) = self.selection.apply(&profile, &files, shows)?;
        let options = Options { refinement, ascii: appearance.ascii, ..Options::default() };
        let mut out = print::output(match self.format {
            Format::Text => print::Escaping::Text,
            Format::Json => print::Escaping::Json,
        });
        let written = match self.format {
            Format::Text => suggest::text(&refined, &options, &mut out),
            Format::Json => suggest::json(&refined, &mut out),
        };
        written.and_then(|()| out.flush()).context(print::CANNOT_PRINT)?;
        Ok(exit_code::DONE)
    }
}
