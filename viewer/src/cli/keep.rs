//! `csprof keep-run`, which no user types: see [`keeper`].

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use csprof_format::write;

use super::closing::resolve;
use super::exit_code;
use crate::launch::output::Output;
use crate::launch::run_dir::RunDir;
use crate::launch::running::Snapshot;
use crate::launch::{self, keeper};
use crate::symbols::files::DiskFiles;

/// Save the run of a csprof that is killed
#[derive(Debug, Args)]
pub struct KeepRun {
    /// Its run folder
    run_dir: PathBuf,
    #[command(flatten)]
    output: SavedOutput,
    /// Leave names for later
    #[arg(long)]
    no_symbols: bool,
}

/// An [`Output`] that another csprof has decided, as arguments.
#[derive(Debug, Args)]
struct SavedOutput {
    /// File to save
    path: PathBuf,
    /// Take the next name if there is one
    #[arg(long)]
    numbered: bool,
    /// Replace it if there is one
    #[arg(long)]
    overwrite: bool,
}

impl KeepRun {
    /// Waits, and saves if that is needed. Nobody listens, so nothing is said.
    ///
    /// # Errors
    ///
    /// When the profile cannot be saved; then the run folder stays.
    pub fn run(&self) -> Result<ExitCode> {
        if !keeper::wait_for_kill()? || !keeper::wait_for_processes(&self.run_dir) {
            return Ok(exit_code::DONE);
        }
        let SavedOutput { path, numbered, overwrite } = &self.output;
        let output = Output::decided(path.clone(), *numbered, *overwrite);
        let Snapshot { mut profile, copies, .. } = launch::salvage(&self.run_dir)?;
        let mut run_dir = RunDir::open(&self.run_dir)?;
        // It was killed between saving and removing the folder, or had not begun.
        if profile.processes.is_empty() || output.has(&profile.run).is_some() {
            run_dir.remove();
            return Ok(exit_code::DONE);
        }
        let path = output.save(&profile)?;
        run_dir.remove();
        if !self.no_symbols {
            let files = DiskFiles::from_environment(&[]).and_copies(copies);
            let warnings = resolve(&mut profile, &files, &|| false);
            profile.run.warnings.extend(warnings);
            write::save(&profile, &path)?;
            files.remember();
        }
        Ok(exit_code::DONE)
    }
}
