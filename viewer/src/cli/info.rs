//! `csprof info`

use std::io::{self, BufWriter, Write};
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::{Args, ValueEnum};

use super::open::ProfileFile;
use super::{Appearance, CANNOT_PRINT, exit_code};
use crate::report::info;

const EXAMPLES: &str = "\
Examples:
  csprof info run.csprof
  csprof info run.csprof --format json | jq .losses";

/// Print what was run, sampled and lost: rates, processes, epochs, load modules, warnings
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Info {
    #[command(flatten)]
    file: ProfileFile,
    /// Form of the output
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Format {
    /// A page for people
    Text,
    /// One object
    Json,
}

impl Info {
    /// Prints the information.
    ///
    /// # Errors
    ///
    /// When the profile cannot be read, or output fails.
    pub fn run(&self, appearance: Appearance) -> Result<ExitCode> {
        let profile = self.file.open()?;
        let mut out = BufWriter::new(io::stdout().lock());
        let written = match self.format {
            Format::Text => info::text::write(&profile, appearance.ascii, &mut out),
            Format::Json => info::json::write(&profile, &mut out),
        };
        written.and_then(|()| out.flush()).context(CANNOT_PRINT)?;
        Ok(exit_code::DONE)
    }
}
