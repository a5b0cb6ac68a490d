//! The command line program. What it does is in the library; what it answers is decided here.

use std::process::ExitCode;

use csprof::cli::{Cli, exit_code};
use csprof::print;

/// Before Rust's runtime: see `csprof::launch::inherited`.
#[used]
#[expect(unsafe_code, reason = "an entry of .init_array")]
#[unsafe(link_section = ".init_array")]
static AT_START: extern "C" fn() = csprof::launch::inherited::note;

/// Runs a subcommand, turns its outcome into an exit code and its error into one line.
fn main() -> ExitCode {
    let cli = match Cli::from_command_line() {
        Ok(cli) => cli,
        // What was asked for: help, or the version.
        Err(answer) if !answer.use_stderr() => answer.exit(),
        // Arguments are often names of files, which a shell has put in for `*`.
        Err(error) => {
            let text = error.render().to_string();
            let _ = print::plain_message(text.trim_end());
            return ExitCode::from(exit_code::WRONG_USAGE);
        }
    };
    match cli.run() {
        Ok(code) => code,
        // The reader of our output has seen enough (`csprof report … | head`): that is success.
        Err(error) if exit_code::is_broken_pipe(&error) => exit_code::DONE,
        Err(error) => {
            // If standard error is closed, there is nobody left to tell.
            let _ = print::message(format_args!("{error:#}"));
            exit_code::of_error(&error)
        }
    }
}
