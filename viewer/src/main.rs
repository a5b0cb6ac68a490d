//! The command line program. What it does is in the library; what it answers is decided here.

use std::io::{self, Write};
use std::process::ExitCode;

use clap::Parser;
use csprof::cli::{Cli, exit_code};

/// Runs a subcommand, turns its outcome into an exit code and its error into one line.
fn main() -> ExitCode {
    let cli = Cli::parse();
    match cli.run() {
        Ok(code) => code,
        // The reader of our output has seen enough (`csprof report … | head`): that is success.
        Err(error) if exit_code::is_broken_pipe(&error) => exit_code::DONE,
        Err(error) => {
            // If standard error is closed, there is nobody left to tell.
            let _ = writeln!(io::stderr(), "csprof: {error:#}");
            exit_code::of_error(&error)
        }
    }
}
