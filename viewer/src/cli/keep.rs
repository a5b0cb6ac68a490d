//! `csprof keep-run`, which no user types: see [`keeper`].

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::Args;

use super::exit_code;
use super::kept_sources::LEFT_FOR_LATER;
use crate::launch::output::Output;
use crate::launch::run_dir::RunDir;
use crate::launch::running::Snapshot;
use crate::launch::{keeper, salvage};

/// Save the run of a csprof that is killed
#[derive(Debug, Args)]
pub struct KeepRun {
    /// Its run folder
    run_dir: PathBuf,
    #[command(flatten)]
    output: SavedOutput,
    /// Say in the profile that source files were to be kept
    #[arg(long)]
    sources: bool,
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
    /// Waits, and saves if that is needed. Nobody listens, so nothing is said. Names are left for
    /// later: the file is the user's as soon as it is there.
    ///
    /// # Errors
    ///
    /// When the profile cannot be saved; then the run folder stays.
    pub fn run(&self) -> Result<ExitCode> {
        if !keeper::wait_for_kill()? {
            return Ok(exit_code::DONE);
        }
        let SavedOutput { path, numbered, overwrite } = &self.output;
        let output = Output::decided(path.clone(), *numbered, *overwrite);
        let Ok(mut run_dir) = RunDir::open(&self.run_dir) else { return Ok(exit_code::DONE) };
        // What is no file, such as a pipe, may have nobody at its other end any more.
        if !output.makes_a_file() || !run_dir.take() {
            return Ok(exit_code::DONE);
        }
        let has_ended = keeper::wait_for_processes(&run_dir);
        let Snapshot { mut profile, unread, .. } = salvage::salvage(&self.run_dir)?;
        let is_saved = if profile.processes.is_empty() {
            // It was killed before the program had begun. What cannot be read is no reason.
            run_dir.is_empty()
        } else {
            // It may have been killed between saving and removing the folder.
            if output.has(&profile).is_none() {
                if self.sources {
                    profile.run.warnings.push(LEFT_FOR_LATER.to_owned());
                }
                output.save_whole(&profile)?;
            }
            true
        };
        if has_ended && is_saved {
            // Nobody listens.
            let _ = run_dir.remove_saved(unread);
        }
        Ok(exit_code::DONE)
    }
}
