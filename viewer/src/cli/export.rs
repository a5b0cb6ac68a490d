//! `csprof export`

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use csprof_format::whole_file::{self, Existing};

use super::exit_code::{self, WrongUsage};
use super::open::{ProfileFiles, Selection};
use super::report::percent;
use crate::export::FORMATS;
use crate::export::format::{Format, Options};
use crate::print;
use crate::profile::Profile;
use crate::set_files::SetFiles;
use crate::views::number::{Form, bytes};

const EXAMPLES: &str = "\
Examples:
  csprof export run.csprof -o run.html
  csprof export run.csprof -o mpi.svg --refine 'through MPI_*'
  csprof export run.csprof --format folded | flamegraph.pl > run.svg
  csprof export run.csprof --format folded --refine 'through parse' -o parse.folded
  csprof export run.csprof --threshold 0.01% -o run.folded";

/// A size that is told before the export is written.
const LARGE_BYTES: u64 = 2_000_000_000;

/// Write a profile as a page or a picture for a browser, or as folded stacks for other tools
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Export {
    #[command(flatten)]
    files: ProfileFiles,
    /// Format to write [default: by the ending of OUT]
    #[arg(long, value_parser = format())]
    format: Option<&'static Format>,
    #[command(flatten)]
    selection: Selection,
    /// With --format folded: count inlined functions with the function they are inlined into
    #[arg(long)]
    no_inline: bool,
    /// With --format folded: end stacks above what has less than this share of what is shown, in
    /// percent, and count its samples there
    #[arg(long, value_name = "P%", value_parser = percent, default_value = "0",
        hide_default_value = true, allow_negative_numbers = true)]
    threshold: f64,
    /// File to write instead of standard output; it is replaced if it exists
    #[arg(short, long, value_name = "OUT")]
    output: Option<PathBuf>,
}

/// Formats by name, each with what the help says of it.
fn format() -> impl TypedValueParser<Value = &'static Format> {
    let offered = FORMATS.map(|format| PossibleValue::new(format.name).help(format.help));
    PossibleValuesParser::new(offered)
        .map(|name| *FORMATS.iter().find(|format| format.name == name).unwrap_or(&FORMATS[0]))
}

impl Export {
    /// Whether the options go together.
    ///
    /// # Errors
    ///
    /// [`WrongUsage`] if they do not.
    pub(super) fn check(&self) -> Result<(), WrongUsage> {
        let format = self.format_or_ending()?;
        let options = [(self.no_inline, "--no-inline"), (self.threshold > 0.0, "--threshold")];
        match options.into_iter().find(|(is_given, _)| *is_given) {
            Some((_, option)) if format.is_none_or(|format| format.is_picture) => {
                Err(WrongUsage(format!("{option} is for --format folded")))
            }
            _ => Ok(()),
        }
    }

    /// The format that was asked for, or that which the file's name ends in.
    fn format_or_ending(&self) -> Result<Option<&'static Format>, WrongUsage> {
        let ending = self.output.as_deref().and_then(Path::extension);
        let is_ending = |name: &str| ending.is_some_and(|ending| ending.eq_ignore_ascii_case(name));
        let fitting = FORMATS.into_iter().find(|format| is_ending(format.name));
        match (self.format, fitting) {
            (Some(asked), Some(fitting)) if asked != fitting => {
                let (asked, fitting) = (asked.name, fitting.name);
                Err(WrongUsage(format!("-o: the file ends in .{fitting}, and --format is {asked}")))
            }
            (asked, fitting) => Ok(asked.or(fitting)),
        }
    }

    /// The format, which has to be known.
    fn known_format(&self) -> Result<&'static Format, WrongUsage> {
        self.format_or_ending()?.ok_or_else(|| {
            let endings = FORMATS.map(|format| format!(".{}", format.name)).join(", ");
            WrongUsage(format!("name a --format, or a file -o that ends in one of {endings}"))
        })
    }

    /// Writes the export.
    ///
    /// # Errors
    ///
    /// When the profile cannot be read, the refinement does not apply, or output fails.
    pub fn run(&self) -> Result<ExitCode> {
        self.check()?;
        self.known_format()?;
        let profile = self.files.open(self.selection.saved)?;
        let files = self.files.set_files();
        // All that can fail but output does so before a file is made.
        let write = self.prepare(&profile, &files)?;
        // Standard output may be a file, or appended to: it is written to, never replaced.
        let is_file = |path: &&Path| !["-", "/dev/stdout"].map(Path::new).contains(path);
        match self.output.as_deref().filter(is_file) {
            Some(path) => {
                self.files.refuse_to_replace(path)?;
                whole_file::save(path, Existing::Replaced, |file| write(file))
                    .with_context(|| format!("{}: cannot be written", path.display()))?;
            }
            None => {
                write(&mut print::output(print::Escaping::Text)).context(print::CANNOT_PRINT)?
            }
        }
        Ok(exit_code::DONE)
    }

    /// What writes the export.
    ///
    /// # Errors
    ///
    /// When the refinement or the metric is not one of this profile's.
    pub(super) fn prepare(
        &self,
        profile: &Profile,
        files: &SetFiles,
    ) -> Result<impl Fn(&mut dyn Write) -> io::Result<()>> {
        let format = self.known_format()?;
        let (refined, refinement) = self.selection.apply(profile, files, format.is_picture)?;
        let measure = self.selection.measure(profile)?.unwrap_or_default();
        let threshold_percent = self.threshold;
        let options = Options { measure, no_inline: self.no_inline, threshold_percent, refinement };
        if let Some(told) = format.size(&refined, &options).and_then(told_of_size) {
            print::message(told)?;
        }
        Ok(move |out: &mut dyn Write| format.write(&refined, &options, out))
    }
}

/// What is said before an export of so many bytes, if they are many.
fn told_of_size(size: u64) -> Option<String> {
    (size > LARGE_BYTES).then(|| {
        format!(
            "{} of stacks follow; --threshold 0.01% ends them where hardly anything is below",
            bytes(size, Form::Unicode)
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_large_export_is_told_with_a_remedy() {
        assert_eq!(told_of_size(LARGE_BYTES), None);
        let told = told_of_size(77_000_000_000).unwrap();
        assert!(told.starts_with("77.0 GB of stacks follow; --threshold"), "{told}");
    }
}
