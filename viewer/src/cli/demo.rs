//! `csprof demo`

use std::ffi::OsString;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context, Result};
use clap::Args;
use nix::unistd::mkdtemp;

use super::appearance::Appearance;
use super::closing::{summary, tell};
use super::exit_code;
use super::notes::NotesFile;
use super::open::read_profile;
use super::record::{Sampling, save};
use super::screen;
use super::settings::Settings;
use crate::launch::Recording;
use crate::launch::output::Output;
use crate::launch::plan::Plan;
use crate::profile::{MetricRef, Profile};
use crate::refine::Refined;
use crate::set_files::SetFiles;
use crate::sources::Sources;
use crate::tui::stages::Stages;
use crate::views::notes::Change;
use crate::{demo, launch, print, report, tui};

const EXAMPLES: &str = "\
Examples:
  csprof demo                     record, then look at it in the viewer
  csprof demo | less              record, then print a report";

/// The hidden subcommand with which csprof runs itself as the program to profile.
pub(super) const PROGRAM: &str = "demo-program";

/// Profile a small built-in program with several threads, and show the result
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Demo {
    /// File to save; without it demo.csprof in a new folder for temporary files
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Replace the file if it exists
    #[arg(short, long)]
    force: bool,
    #[command(flatten)]
    sampling: Sampling,
}

impl Demo {
    /// Records the built-in program and shows its profile.
    ///
    /// # Errors
    ///
    /// When it cannot be recorded, saved or shown.
    pub(super) fn run(&self, appearance: Appearance, settings: &Settings) -> Result<ExitCode> {
        let (recording, output) = self.record()?;
        let status = exit_code::of_program(recording.status);
        let (path, profile, _) = save(recording, &output, true, None)?;
        tell(&summary(&path, &profile));
        if tui::is_screen() {
            let sets = SetFiles::of(Some(&path));
            let name = path.display().to_string();
            let files = std::slice::from_ref(&name);
            let (profile, name) = (&profile, name.as_str());
            let notes = NotesFile::of(profile);
            let keeper = notes.clone();
            let opened = tui::Opened {
                profile,
                name,
                files,
                salvage: false,
                metric: MetricRef::FIRST,
                compared_by: None,
                sources: &Sources::default(),
                sets: &sets,
                notes: notes.load().0,
                note: Arc::new(move |change: &Change| keeper.change(change)),
                problems: &[],
                live: None,
                remark: None,
                left: &|_| {},
            };
            let read = Arc::new(move || read_profile(&path, false).map(Profile::from_saved));
            let base = Refined::base(profile);
            let write = screen::writer(appearance, sets.clone());
            let options = appearance.viewer(true, settings);
            tui::run(opened, Some(read), write, [base.clone(), base], Stages::default(), options)?;
            return Ok(ExitCode::from(status));
        }
        let mut out = print::output(print::Escaping::Text);
        let refined = Refined::base(&profile);
        let options = report::Options { ascii: appearance.ascii, ..report::Options::default() };
        report::text::write(&refined, &options, &mut out)?;
        out.flush()?;
        Ok(ExitCode::from(status))
    }

    /// Runs the built-in program.
    fn record(&self) -> Result<(Recording, Output)> {
        let sampling = self.sampling.settings(false)?;
        let output = self.output().map_err(exit_code::before_program)?;
        tell(&[format!(
            "recording a built-in program with {} threads for {} seconds",
            demo::INDEXERS + 1,
            demo::DURATION.as_secs()
        )]);
        let csprof = std::env::current_exe().context("cannot find the csprof program itself");
        let recording = csprof.and_then(|csprof| {
            launch::record(
                &[csprof.into_os_string(), OsString::from(PROGRAM)],
                sampling,
                None,
                Plan::default(),
                &output.arguments(),
                &|_| (),
            )
        });
        Ok((recording.map_err(exit_code::before_program)?, output))
    }

    /// Where the profile goes.
    fn output(&self) -> Result<Output> {
        let path = match &self.output {
            Some(path) => path.clone(),
            None => {
                let template = std::env::temp_dir().join("csprof-demo-XXXXXX");
                mkdtemp(&template)
                    .with_context(|| format!("{}: cannot be made", template.display()))?
                    .join("demo.csprof")
            }
        };
        Output::new(Some(&path), path.as_os_str(), self.force)
    }
}

/// The program that `demo` profiles
#[derive(Clone, Copy, Debug, Args)]
pub struct DemoProgram {}

impl DemoProgram {
    /// Runs it.
    ///
    /// # Errors
    ///
    /// When a thread cannot be started.
    pub fn run(self) -> Result<ExitCode> {
        let done = demo::run(demo::DURATION).context("cannot start a thread")?;
        // On standard error, because a report may follow on standard output.
        print::plain_message(&format!("demo: {done}"))?;
        Ok(exit_code::DONE)
    }
}
