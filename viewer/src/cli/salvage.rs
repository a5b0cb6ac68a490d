//! `csprof salvage`

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Result, bail};
use clap::Args;

use super::closing::{resolve, summary, tell, told_of_cache};
use super::exit_code;
use crate::launch;
use crate::launch::output::Output;
use crate::print;
use crate::profile::Profile;
use crate::symbols::files::DiskFiles;
use crate::views::printable::{command_line, printable};

const EXAMPLES: &str = "\
Examples:
  csprof salvage                  what is there to salvage?
  csprof salvage /dev/shm/csprof-4711-x3fQ9a -o run.csprof

The folder is left in place; remove it when the profile is good.";

/// Make a profile of what an interrupted `csprof record` left in its run folder
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Salvage {
    /// The run folder that `csprof record` named; without it, those on this machine are listed
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
        let (mut profile, copies) = launch::salvage(run_dir)?;
        if profile.processes.is_empty() {
            bail!("{}: no process left anything there", run_dir.display());
        }
        let files = DiskFiles::from_environment(&[]).and_copies(copies);
        if !self.no_symbols {
            let warnings = resolve(&mut profile, &files, &|| false);
            profile.run.warnings.extend(warnings);
        }
        let path = output.save(&profile)?;
        files.remember();
        tell(&told_of_cache());
        tell(&summary(&path, &Profile::from_saved(profile)));
        Ok(exit_code::DONE)
    }
}

fn list() -> Result<ExitCode> {
    let found = launch::salvageable();
    if found.is_empty() {
        tell(&["no interrupted run has left anything on this machine".to_owned()]);
    }
    let mut out = print::output(print::Escaping::Text);
    for (path, command) in found {
        writeln!(out, "{}  {}", path.display(), printable(&command_line(&command)))?;
    }
    Ok(exit_code::DONE)
}
