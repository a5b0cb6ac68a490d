//! `csprof merge`

use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Result, bail};
use clap::Args;

use super::exit_code;
use super::open::ProfileFiles;
use super::saved_stages::SavedStages;
use crate::launch::output::Output;
use crate::print;
use crate::views::number::{Form, counted};

const EXAMPLES: &str = "\
Runs keep their processes, ranks, threads and epochs apart: `rank = 1` refines to one of them, and \
csprof info lists them. Samples, losses, returns and CPU times are those of all runs together. \
All runs must be of the same sources and periods; csprof diff compares runs that are not.

Examples:
  csprof merge -o all.csprof rank0.csprof rank1.csprof
  csprof merge -f -o all.csprof run.*.csprof && csprof view all.csprof";

/// Make one profile of several
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Merge {
    /// File to write
    #[arg(short, long, value_name = "OUT")]
    output: PathBuf,
    /// Replace OUT if it exists
    #[arg(short, long)]
    force: bool,
    #[command(flatten)]
    parts: ProfileFiles,
}

impl Merge {
    /// Merges the profiles.
    ///
    /// # Errors
    ///
    /// When a profile cannot be read, the profiles do not go together, or the result cannot be
    /// saved. Then nothing is written.
    pub fn run(&self) -> Result<ExitCode> {
        let same = |file: &PathBuf| match (fs::canonicalize(file), fs::canonicalize(&self.output)) {
            (Ok(file), Ok(output)) => file == output,
            _ => false,
        };
        if let Some(file) = self.parts.files.iter().find(|file| same(file)) {
            bail!(
                "{}: is one of the profiles to merge and would be replaced; name another file with -o",
                file.display()
            );
        }
        // Before the work, so that nobody waits in vain.
        let output = Output::new(Some(&self.output), self.output.as_os_str(), self.force)?;
        let merged = self.parts.merged(SavedStages::default())?;
        output.save(&merged)?;
        let form = Form::Unicode;
        let samples = merged.nodes.total_samples();
        print::message(format_args!(
            "{}: {} of {}; csprof view {0}",
            self.output.display(),
            counted(samples, "sample", form),
            counted(merged.runs.len().max(1) as u64, "run", form),
        ))?;
        Ok(exit_code::DONE)
    }
}
