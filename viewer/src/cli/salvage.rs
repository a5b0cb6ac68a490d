//! `csprof salvage`

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Result, bail};
use clap::Args;

use super::exit_code;
use super::record::{resolve, summary, tell};
use crate::launch;
use crate::launch::output::Output;
use crate::profile::Profile;

const EXAMPLES: &str = "\
Example:
  csprof salvage /dev/shm/csprof-4711-x3fQ9a -o run.csprof

The folder is left in place; remove it when the profile is good.";

/// Make a profile of what an interrupted `csprof record` left in its run folder
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Salvage {
    /// The run folder that `csprof record` named
    #[arg(value_name = "DIR")]
    run_dir: PathBuf,
    /// File to save
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// Replace the file if it exists
    #[arg(short, long)]
    force: bool,
    /// Save addresses without function names
    #[arg(long)]
    no_symbols: bool,
}

impl Salvage {
    /// Gathers and saves.
    ///
    /// # Errors
    ///
    /// When there is no run folder, nothing in it, or the profile cannot be saved.
    pub fn run(&self) -> Result<ExitCode> {
        let output = Output::new(Some(&self.output), self.output.as_os_str(), self.force)?;
        let mut profile = launch::salvage(&self.run_dir)?;
        if profile.processes.is_empty() {
            bail!("{}: no process left anything there", self.run_dir.display());
        }
        if !self.no_symbols {
            resolve(&mut profile);
        }
        let path = output.save(&profile)?;
        tell(&summary(&path, &Profile::from_saved(profile)));
        Ok(exit_code::DONE)
    }
}
