//! `csprof salvage`

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Result, bail};
use clap::Args;

use super::exit_code;
use super::record::tell;
use super::snapshot::save;
use crate::launch::output::Output;
use crate::launch::salvage;
use crate::print;
use crate::views::printable::{command_line, printable};

const EXAMPLES: &str = "\
Examples:
  csprof salvage                  what is there to salvage?
  csprof salvage /dev/shm/csprof-4711-x3fQ9a -o run.csprof

The folder is left in place; remove it when the profile is good. What it has on a disk \
(/tmp/csprof-spill-…) is removed an hour later by the next `csprof record`.";

/// Make a profile of what an interrupted `csprof record`, or a prepared program, left in its folder
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Salvage {
    /// The run folder; without it, those on this machine are listed
    #[arg(value_name = "DIR", requires = "output")]
    run_dir: Option<PathBuf>,
    /// File to save
    #[arg(short, long, value_name = "FILE", requires = "run_dir")]
    output: Option<PathBuf>,
    /// Replace the file if it exists
    #[arg(short, long)]
    force: bool,
    /// Save addresses without function names; `csprof symbolize` adds them
    #[arg(long)]
    no_symbols: bool,
}

impl Salvage {
    /// Gathers and saves, or lists what could be.
    ///
    /// # Errors
    ///
    /// When there is no run folder, nothing in it, or the profile cannot be saved.
    pub fn run(&self) -> Result<ExitCode> {
        let (Some(run_dir), Some(output)) = (&self.run_dir, &self.output) else {
            return list();
        };
        let output = Output::new(Some(output), output.as_os_str(), self.force)?;
        let salvaged = salvage::salvage(run_dir)?;
        if salvaged.profile.processes.is_empty() {
            bail!("{}: no process left anything there", run_dir.display());
        }
        save(salvaged, &output, !self.no_symbols)?;
        Ok(exit_code::DONE)
    }
}

fn list() -> Result<ExitCode> {
    let found = salvage::salvageable();
    if found.is_empty() {
        tell(&["no interrupted run has left anything on this machine".to_owned()]);
    }
    let mut out = print::output(print::Escaping::Text);
    for (path, command) in found {
        writeln!(out, "{}  {}", path.display(), printable(&command_line(&command)))?;
    }
    Ok(exit_code::DONE)
}
