//! What the viewer writes: the output of a command line, of a profile that is open already.

use std::sync::Arc;

use anyhow::Result;
use clap::{Parser, Subcommand};

use super::appearance::Appearance;
use super::diff::Diff;
use super::export::Export;
use super::info::Info;
use super::report::Report;
use crate::print::{Escaping, Printable};
use crate::profile::Profile;
use crate::set_files::SetFiles;
use crate::tui::Writer;

/// The command lines that say what a screen shows.
#[derive(Debug, Parser)]
struct Line {
    /// Said of a line that does not depend on a configuration file; here none does.
    #[arg(long = "no-config")]
    _no_config: bool,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Report(Report),
    Diff(Diff),
    Info(Info),
    Export(Export),
}

/// Writes for the viewer, with these sets of frames.
#[must_use]
pub fn writer(appearance: Appearance, sets: SetFiles) -> Writer {
    Arc::new(move |profile, words| written(profile, words, appearance, &sets))
}

/// The output of `csprof report`, `diff`, `info` or `export`, as if their file had been read.
fn written(
    profile: &Profile,
    words: &[String],
    appearance: Appearance,
    sets: &SetFiles,
) -> Result<Vec<u8>> {
    let out = |escaping: Escaping| Printable::new(Vec::new(), escaping);
    Ok(match Line::try_parse_from(words)?.command {
        Command::Report(report) => {
            let mut out = out(report.escaping());
            report.write(profile, appearance, sets, &mut out)?;
            out.into_inner()
        }
        Command::Diff(diff) => {
            let mut out = out(diff.escaping());
            let (refined, options) = diff.prepare(profile, appearance)?;
            diff.write(&refined, &options, &mut out)?;
            out.into_inner()
        }
        Command::Info(info) => {
            let mut out = out(info.escaping());
            info.write(profile, appearance, &mut out)?;
            out.into_inner()
        }
        Command::Export(export) => {
            let mut out = Vec::new();
            export.prepare(profile, sets)?(&mut out)?;
            out
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_may_say_that_it_needs_no_configuration() {
        let words = ["csprof", "--no-config", "report", "run.csprof"];
        assert!(matches!(Line::try_parse_from(words).unwrap().command, Command::Report(_)));
    }
}
