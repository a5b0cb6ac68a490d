//! `csprof export`

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::{Args, ValueEnum};

use super::exit_code::{self, WrongUsage};
use super::open::{ProfileFiles, Selection};
use crate::export::folded::{self, Options};
use crate::export::{html, svg};
use crate::print::{self, Printable};
use crate::profile::Profile;
use crate::set_files::SetFiles;

const EXAMPLES: &str = "\
Examples:
  csprof export run.csprof --format html -o run.html
  csprof export run.csprof --format svg --refine 'through MPI_*' -o mpi.svg
  csprof export run.csprof --format folded | flamegraph.pl > run.svg
  csprof export run.csprof --format folded --refine 'through parse' -o parse.folded";

/// Write a profile as a page or a picture for a browser, or in the format of other tools
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Export {
    #[command(flatten)]
    files: ProfileFiles,
    /// Format to write
    #[arg(long, value_enum)]
    format: Format,
    #[command(flatten)]
    selection: Selection,
    /// With --format folded: count inlined functions with the function they are inlined into
    #[arg(long)]
    no_inline: bool,
    /// File to write instead of standard output; it is replaced if it exists
    #[arg(short, long, value_name = "OUT")]
    output: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// One line for each call path, for flame graphs: `main;solve;axpy 42`
    Folded,
    /// The call tree as a picture
    Svg,
    /// The call tree to click through and its picture to zoom and search: one file, no network
    Html,
}

impl Export {
    /// Writes the export.
    ///
    /// # Errors
    ///
    /// When the profile cannot be read, the refinement does not apply, or output fails.
    pub fn run(&self) -> Result<ExitCode> {
        if self.no_inline && self.format != Format::Folded {
            let cause = "--no-inline is for --format folded";
            return Err(WrongUsage(cause.into()).into());
        }
        let profile = self.files.open(self.selection.saved)?;
        let files = self.files.set_files();
        // All that can fail but output does so before a file is made.
        let write = self.prepare(&profile, &files)?;
        match self.output.as_deref().filter(|path| *path != Path::new("-")) {
            Some(path) => File::create(path)
                .and_then(|mut file| write(&mut file))
                .with_context(|| format!("{}: cannot be written", path.display()))?,
            None => {
                write(&mut print::output(print::Escaping::Text)).context(print::CANNOT_PRINT)?
            }
        }
        Ok(exit_code::DONE)
    }

    /// What writes the export.
    ///
    /// # Errors
    ///
    /// When the refinement or the metric is not one of this profile's.
    pub(super) fn prepare(
        &self,
        profile: &Profile,
        files: &SetFiles,
    ) -> Result<impl Fn(&mut dyn Write) -> io::Result<()>> {
        let shows = self.format != Format::Folded;
        let (refined, refinement) = self.selection.apply(profile, files, shows)?;
        let measure = self.selection.measure(profile)?.unwrap_or_default();
        let (format, no_inline) = (self.format, self.no_inline);
        Ok(move |out: &mut dyn Write| -> io::Result<()> {
            let mut out = Printable::new(BufWriter::new(out), print::Escaping::Text);
            match format {
                Format::Folded => {
                    folded::write(&refined, Options { measure, no_inline }, &mut out)?;
                }
                Format::Svg => svg::write(&refined, refinement.clone(), &mut out)?,
                Format::Html => html::write(&refined, refinement.clone(), &mut out)?,
            }
            out.flush()
        })
    }
}
