//! The command line: one file per subcommand, definitions by clap, from which help, completions
//! and manual pages are made.
//!
//! Conventions: data on standard output, messages on standard error; `--help` everywhere, with an
//! example; exit codes in [`exit_code`].

use std::process::ExitCode;

use anyhow::Result;
use clap::{Parser, Subcommand};

mod completions;
mod event;
pub mod exit_code;
mod man;
mod progress;
mod record;
mod salvage;

pub use completions::Completions;
pub use man::ManPages;
pub use record::{Record, Sampling};
pub use salvage::Salvage;

const EXAMPLES: &str = "\
Examples:
  csprof record ./prog input      profile a program
  csprof view prog.csprof         look at what was measured";

/// Call path profiler for unmodified, optimized programs on Linux
#[derive(Debug, Parser)]
#[command(name = "csprof", version, after_help = EXAMPLES, propagate_version = true)]
pub struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Record(Record),
    Salvage(Salvage),
    Completions(Completions),
    #[command(name = "man")]
    ManPages(ManPages),
}

impl Cli {
    /// Runs the subcommand and returns its exit code.
    ///
    /// # Errors
    ///
    /// One chain of causes, whose first line names file, cause and remedy.
    pub fn run(&self) -> Result<ExitCode> {
        match &self.command {
            Command::Record(record) => record.run(),
            Command::Salvage(salvage) => salvage.run(),
            Command::Completions(completions) => completions.run(),
            Command::ManPages(pages) => pages.run(),
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_definitions_do_not_contradict_each_other() {
        Cli::command().debug_assert();
    }

    #[test]
    fn every_subcommand_shows_an_example() {
        for command in Cli::command().get_subcommands().filter(|command| !command.is_hide_set()) {
            let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            assert!(help.contains(&format!("csprof {}", command.get_name())), "{command}");
        }
    }
}
