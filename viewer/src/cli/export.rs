//! `csprof export`

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::{Args, ValueEnum};

use super::exit_code;
use super::open::{ProfileFile, Selection};
use crate::export::folded::{self, Options};
use crate::print::{self, Printable};

const EXAMPLES: &str = "\
Examples:
  csprof export run.csprof --format folded | flamegraph.pl > run.svg
  csprof export run.csprof --format folded --refine 'through parse' -o parse.folded";

/// Write a profile in the format of other tools
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Export {
    #[command(flatten)]
    file: ProfileFile,
    /// Format to write
    #[arg(long, value_enum)]
    format: Format,
    #[command(flatten)]
    selection: Selection,
    /// Count inlined functions with the function they are inlined into
    #[arg(long)]
    no_inline: bool,
    /// File to write instead of standard output; it is replaced if it exists
    #[arg(short, long, value_name = "OUT")]
    output: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Format {
    /// One line for each call path, for flame graphs: `main;solve;axpy 42`
    Folded,
}

impl Export {
    /// Writes the export.
    ///
    /// # Errors
    ///
    /// When the profile cannot be read, the refinement does not apply, or output fails.
    pub fn run(&self) -> Result<ExitCode> {
        let profile = self.file.open()?;
        let (refined, _) = self.selection.apply(&profile, &self.file.set_files(), false)?;
        let measure = self.selection.measure(&profile)?.unwrap_or_default();
        let write = |out: &mut dyn Write| -> io::Result<()> {
            let mut out = Printable::new(BufWriter::new(out), print::Escaping::Text);
            match self.format {
                Format::Folded => {
                    let options = Options { measure, no_inline: self.no_inline };
                    folded::write(&refined, options, &mut out)?;
                }
            }
            out.flush()
        };
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
}
