//! `csprof completions`

use std::process::ExitCode;

use anyhow::Result;
use clap::{Args, Command};
use clap_complete::Shell;

use super::exit_code;
use crate::print;

const EXAMPLES: &str = "\
Examples:
  csprof completions bash > ~/.local/share/bash-completion/completions/csprof
  csprof completions zsh > \"${fpath[1]}/_csprof\"";

/// Print a completion script for a shell
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Completions {
    /// The shell
    shell: Shell,
}

impl Completions {
    /// Prints the script for `command`, which is csprof.
    ///
    /// # Errors
    ///
    /// Those of standard output.
    pub fn run(&self, mut command: Command) -> Result<ExitCode> {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut command, "csprof", &mut script);
        print::as_it_is(&script)?;
        Ok(exit_code::DONE)
    }
}
