//! `csprof header`

use std::process::ExitCode;

use anyhow::Result;
use clap::Args;

use crate::print;

/// What C and C++ programs include.
const HEADER: &str = include_str!("../../../collector/api/csprof.h");

const EXAMPLES: &str = "\
Examples:
  csprof header >csprof.h
  cc -O2 -g prog.c                 with #include \"csprof.h\"; there is nothing to link
  csprof record -e resource:rows ./a.out";

/// Print csprof.h, by which a C or C++ program counts resources and names its phases
///
/// `csprof_count("rows", n)` counts n rows, which `record -e resource:rows` samples by call path;
/// `csprof_phase("assemble")` begins a phase, to which `phase = assemble` refines. Without csprof
/// both do nothing. Rust programs have the same in the crate csprof-api.
#[derive(Clone, Copy, Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Header {}

impl Header {
    /// Prints it.
    ///
    /// # Errors
    ///
    /// When it cannot be written.
    pub(super) fn run(self) -> Result<ExitCode> {
        print::as_it_is(HEADER.as_bytes())?;
        Ok(ExitCode::SUCCESS)
    }
}
