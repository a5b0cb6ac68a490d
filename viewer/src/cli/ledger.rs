//! `csprof ledger`

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::{Args, ValueEnum};

use super::appearance::Appearance;
use super::exit_code;
use super::notes::NotesFile;
use super::open::{Selection, read_profile};
use crate::print;
use crate::profile::Profile;
use crate::report::{Options, ledger};
use crate::set_files::SetFiles;

const EXAMPLES: &str = "\
In the viewer, U enters the selected path of the call tree as understood, X as to be fixed, with an \
estimate of what that would save (50%, 120 ms, all). What lies below another entry counts once, so \
together the estimates are no more than there is. In the next run of the program, each entry says \
what it cost before, what it costs now, and whether the difference is more than noise.

Examples:
  csprof ledger run.csprof
  csprof ledger run.csprof --format markdown > ledger.md
  csprof ledger next.csprof --format json | jq '.entries[] | {path, since}'

Entries are kept in $XDG_STATE_HOME/csprof/notes, or ~/.local/state/csprof/notes, a file for each \
program. CSPROF_STATE names another folder for csprof, or none where it is empty.";

/// List the paths that are understood or to be fixed, and what that saves
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Ledger {
    /// A saved profile; `-` reads it from standard input
    #[arg(value_name = "FILE")]
    file: PathBuf,
    #[command(flatten)]
    selection: Selection,
    /// Form of the output
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    /// Read what is left of a damaged profile; what is missing is counted as lost
    #[arg(long)]
    salvage: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Format {
    /// A page for people
    Text,
    /// A table for an issue or a pull request
    Markdown,
    /// One object
    Json,
}

impl Ledger {
    /// Prints the ledger.
    ///
    /// # Errors
    ///
    /// When the profile cannot be read, the refinement does not apply, or output fails.
    pub fn run(&self, appearance: Appearance) -> Result<ExitCode> {
        let profile = Profile::from_saved(read_profile(&self.file, self.salvage)?);
        let files = SetFiles::of(Some(&self.file));
        let shows = !matches!(self.format, Format::Json);
        let (refined, refinement) = self.selection.apply(&profile, &files, shows)?;
        // As the viewer writes stages: entries are compared under the same ones.
        let sets = files.load();
        let plain = |text: String| sets.parse(&text).map_or(text, |stages| stages.to_string());
        let refinement = refinement.map(plain);
        let file = NotesFile::of(&profile);
        let why_none = file.why_none();
        if let Some(why) = why_none {
            print::message(format_args!("no ledger is kept: {why}"))?;
        }
        let (notes, unreadable) = file.load();
        if let Some(cause) = unreadable {
            anyhow::bail!(cause);
        }
        let options = Options { refinement, ascii: appearance.ascii, ..Options::default() };
        let mut out = print::output(match self.format {
            Format::Text | Format::Markdown => print::Escaping::Text,
            Format::Json => print::Escaping::Json,
        });
        let written = match self.format {
            Format::Text => ledger::text(&refined, &notes, why_none.is_none(), &options, &mut out),
            Format::Markdown => ledger::markdown(&refined, &notes, &options, &mut out),
            Format::Json => ledger::json(&refined, &notes, &options, &mut out),
        };
        written.and_then(|()| out.flush()).context(print::CANNOT_PRINT)?;
        Ok(exit_code::DONE)
    }
}
