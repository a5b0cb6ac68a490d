//! `csprof info`

use std::io::Write;
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::{Args, ValueEnum};

use super::appearance::Appearance;
use super::exit_code;
use super::open::ProfileFile;
use super::saved_stages::SavedStages;
use crate::print;
use crate::profile::Profile;
use crate::refine::{Refined, Refinement};
use crate::report::info::{self, Places, RefinementPlace, SetPlace};
use crate::set_files::{SetFile, SetFiles};

const EXAMPLES: &str = "\
Examples:
  csprof info run.csprof
  csprof info run.csprof --format json | jq .losses";

/// Print what was run, sampled and lost: rates, processes, epochs, load modules, warnings, sets
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
        self.write(&profile, appearance, &mut print::output(self.escaping()))?;
        // Which of the stages that it begins with do not count.
        let saved = SavedStages::default();
        let sets = self.file.set_files().load();
        let (begun, _) = saved.before(Refinement::default(), &Refined::base(&profile), &sets);
        begun.left_out.iter().try_for_each(print::message)?;
        Ok(exit_code::DONE)
    }

    /// How characters of the output are escaped.
    pub(super) fn escaping(&self) -> print::Escaping {
        match self.format {
            Format::Text => print::Escaping::Text,
            Format::Json => print::Escaping::Json,
        }
    }

    /// Writes the information of a profile.
    ///
    /// # Errors
    ///
    /// When output fails.
    pub(super) fn write(
        &self,
        profile: &Profile,
        appearance: Appearance,
        out: &mut impl Write,
    ) -> Result<()> {
        let files = self.file.set_files();
        let places = Places { sets: set_places(&files), refinements: refinement_place(&files) };
        let written = match self.format {
            Format::Text => info::text::write(profile, &places, appearance.ascii, out),
            Format::Json => info::json::write(profile, &places, out),
        };
        written.and_then(|()| out.flush()).context(print::CANNOT_PRINT)
    }
}

/// The files of sets, and what is in them.
fn set_places(files: &SetFiles) -> Vec<SetPlace> {
    let sets = files.load();
    let places = [(SetFile::User, "all profiles"), (SetFile::Beside, "this profile")];
    let place = |(file, is_for)| {
        let file = files.path(file)?.display().to_string();
        let named = sets.named().iter().filter(|set| is_in(set.place(), &file));
        let problems = sets.problems().iter().filter(|problem| is_in(&problem.place, &file));
        Some(SetPlace {
            sets: named.map(|set| set.name().to_owned()).collect(),
            problems: problems.map(ToString::to_string).collect(),
            is_for,
            file,
        })
    };
    places.into_iter().filter_map(place).collect()
}

/// The file of refinements, and what is in it.
fn refinement_place(files: &SetFiles) -> Option<RefinementPlace> {
    let sets = files.load();
    let file = files.refinements()?.display().to_string();
    let problems = sets.problems().iter().filter(|problem| is_in(&problem.place, &file));
    Some(RefinementPlace {
        refinements: sets.refinements().iter().map(|saved| saved.name.clone()).collect(),
        problems: problems.map(ToString::to_string).collect(),
        file,
    })
}

/// Whether a place is of a file: `file:line`, or `file` where it cannot be read.
fn is_in(place: &str, file: &str) -> bool {
    place.strip_prefix(file).is_some_and(|line| line.is_empty() || line.starts_with(':'))
}
