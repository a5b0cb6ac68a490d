//! Exit codes, all in one place.
//!
//! | code | meaning |
//! |---|---|
//! | 0 | done |
//! | 1 | failed: the message says what and what to do |
//! | 2 | wrong usage |
//!
//! `record` and `demo` return the status of the program they ran, 128 + signal if it was killed, as
//! a shell does. Where the program has not begun: 127 if it does not exist, 126 if it cannot be
//! executed, 125 if csprof failed before. 1 if it succeeded but its profile could not be saved.

use std::fmt;
use std::io;
use std::process::{ExitCode, ExitStatus};

use std::os::unix::process::ExitStatusExt;

use crate::launch::check::CannotStart;

/// Done.
pub const DONE: ExitCode = ExitCode::SUCCESS;

/// Wrong usage.
pub const WRONG_USAGE: u8 = 2;

/// An error that is the fault of the command line, not of the world.
#[derive(Debug)]
pub struct WrongUsage(pub String);

impl WrongUsage {
    /// With one more line.
    #[must_use]
    pub fn with_hint(self, hint: Option<String>) -> Self {
        match hint {
            Some(hint) => Self(format!("{}\n{hint}", self.0)),
            None => self,
        }
    }
}

impl fmt::Display for WrongUsage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for WrongUsage {}

/// An error before the program to profile began: nothing of it has run.
#[derive(Debug)]
struct BeforeProgram(anyhow::Error);

impl fmt::Display for BeforeProgram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#}", self.0)
    }
}

impl std::error::Error for BeforeProgram {}

/// Has an error tell that the program to profile has not begun.
#[must_use]
pub(super) fn before_program(error: anyhow::Error) -> anyhow::Error {
    BeforeProgram(error).into()
}

/// The exit code for an error.
#[must_use]
pub fn of_error(error: &anyhow::Error) -> ExitCode {
    if error.downcast_ref::<WrongUsage>().is_some() {
        return ExitCode::from(WRONG_USAGE);
    }
    ExitCode::from(match error.downcast_ref() {
        Some(BeforeProgram(cause)) => match cause.downcast_ref() {
            Some(CannotStart::NotFound(_)) => 127,
            Some(CannotStart::NotExecutable(..)) => 126,
            None => 125,
        },
        None => 1,
    })
}

/// The exit code that stands for a program's status: its own, or 128 + signal.
#[must_use]
pub fn of_program(status: ExitStatus) -> u8 {
    match (status.code(), status.signal()) {
        (Some(code), _) => code as u8,
        (None, Some(signal)) => (128 + signal) as u8,
        (None, None) => 1,
    }
}

/// Whether an error only says that nobody reads our output any more. Rust programs ignore SIGPIPE,
/// so this arrives as an error of a write.
#[must_use]
pub fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        cause
            .downcast_ref::<io::Error>()
            .is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_keeps_its_status() {
        assert_eq!(of_program(ExitStatus::from_raw(3 << 8)), 3);
        assert_eq!(of_program(ExitStatus::from_raw(9)), 137);
    }

    #[test]
    fn a_broken_pipe_is_found_behind_other_causes() {
        let pipe = anyhow::Error::from(io::Error::from(io::ErrorKind::BrokenPipe));
        assert!(is_broken_pipe(&pipe.context("writing the report")));
        assert!(!is_broken_pipe(&anyhow::anyhow!("disk full")));
    }
}
