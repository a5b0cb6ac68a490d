//! `csprof man`

use std::fs;
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::{Args, CommandFactory};
use clap_mangen::Man;

use super::{Cli, exit_code};

const EXAMPLES: &str = "\
Examples:
  csprof man | man -l -
  csprof man --all ~/.local/share/man/man1";

/// Print the manual page, or write the pages of all subcommands to a folder
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct ManPages {
    /// Write csprof.1, csprof-record.1 and so on to this folder
    #[arg(long, value_name = "DIR")]
    all: Option<PathBuf>,
}

impl ManPages {
    /// Prints or writes the pages.
    ///
    /// # Errors
    ///
    /// Those of standard output, or of the folder.
    pub fn run(&self) -> Result<ExitCode> {
        match &self.all {
            Some(folder) => {
                fs::create_dir_all(folder)
                    .and_then(|()| clap_mangen::generate_to(Cli::command(), folder))
                    .with_context(|| format!("{}: cannot be written", folder.display()))?;
            }
            None => {
                let mut page = Vec::new();
                Man::new(Cli::command()).render(&mut page)?;
                io::stdout().write_all(&page)?;
            }
        }
        Ok(exit_code::DONE)
    }
}
