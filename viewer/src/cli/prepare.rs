//! `csprof prepare`

use std::ffi::OsString;
use std::process::ExitCode;

use anyhow::Result;
use clap::Args;

use super::exit_code;
use super::record::Sampling;
use crate::launch::{self, running};

const EXAMPLES: &str = "\
The program runs as it would alone, with the collector in it and nothing sampled, until `csprof \
attach` or `csprof control PID resume` asks for that. No process of csprof stays. Each process \
leaves a file of 20 KB in shared memory. The `csprof attach` that sees the program's end, and can \
read them all, removes them, or else the next `prepare`, `attach`, `control` or `top` that is run \
an hour later, if an attach has saved all; `csprof salvage` saves what none has.

Examples:
  csprof prepare -- ./server --port 80 &
  csprof attach $! --duration 10s -o server.csprof";

/// Start a program so that `csprof attach` can profile it later
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Prepare {
    #[command(flatten)]
    sampling: Sampling,
    /// The collector says nothing on the program's standard error
    #[arg(short, long)]
    quiet: bool,
    /// The program and its arguments
    #[arg(trailing_var_arg = true, required = true, value_name = "PROG [ARG]")]
    command: Vec<OsString>,
}

impl Prepare {
    /// Becomes the program.
    ///
    /// # Errors
    ///
    /// When the program cannot be started, or there is no place for its data.
    pub fn run(&self) -> Result<ExitCode> {
        let settings = self.sampling.settings(self.quiet)?;
        running::remove_what_is_left();
        match launch::prepare(&self.command, settings) {
            Ok(never) => match never {},
            Err(error) => Err(exit_code::before_program(error)),
        }
    }
}
