//! `csprof view`

use std::process::ExitCode;

use anyhow::Result;
use clap::Args;

use super::open::ProfileFile;
use super::{Appearance, exit_code};
use crate::tui::{Options, run};

const EXAMPLES: &str = "\
Examples:
  csprof view run.csprof          ? in the viewer shows its keys";

/// Look at a profile in the terminal
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct View {
    #[command(flatten)]
    file: ProfileFile,
    /// Leave the mouse to the terminal, for selecting text
    #[arg(long)]
    no_mouse: bool,
}

impl View {
    /// Shows the profile until the user leaves.
    ///
    /// # Errors
    ///
    /// When the profile cannot be read, or there is no terminal.
    pub fn run(&self, appearance: Appearance) -> Result<ExitCode> {
        let profile = self.file.open()?;
        let files = self.file.set_files();
        run(&profile, &self.file.name(), &files, appearance.viewer(!self.no_mouse))?;
        Ok(exit_code::DONE)
    }
}

impl Appearance {
    /// The same for the viewer.
    pub(super) const fn viewer(self, mouse: bool) -> Options {
        Options { color: self.color, ascii: self.ascii, mouse }
    }
}
