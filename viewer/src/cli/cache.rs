//! `csprof cache`

use std::io::Write as _;
use std::process::ExitCode;

use anyhow::{Context as _, Result};
use clap::Args;

use super::exit_code;
use crate::print;
use crate::symbols::cache::{Cache, SIZE_VARIABLE};

const HELP: &str = "\
What record, symbolize and salvage read from the debug information of programs is kept in csprof/names \
in the folder of XDG_CACHE_HOME or else ~/.cache, 256 MiB at most, so that the next recording of that \
very build takes less time at its end. CSPROF_CACHE_SIZE=1G keeps more, and CSPROF_CACHE_SIZE=0 \
nothing. Ranks of a job keep nothing unless that variable is set. What was not used for the longest time goes first. \
It is written after the profile, and not of files that were changed within the last two seconds.

Examples:
  CSPROF_CACHE_SIZE=1G csprof record ./solver input
  csprof cache
  csprof cache --clear";

/// Say what is remembered of programs that were recorded before, or forget it
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub struct CacheOf {
    /// Remove all of it
    #[arg(long)]
    clear: bool,
}

impl CacheOf {
    /// Says where the cache is and what it holds, or clears it.
    ///
    /// # Errors
    ///
    /// When something cannot be removed.
    pub fn run(&self) -> Result<ExitCode> {
        let mut out = print::output(print::Escaping::Text);
        let (used, malformed) = match Cache::from_environment() {
            Ok(used) => (used, None),
            Err(why) => (None, Some(why)),
        };
        let limit = used.as_ref().map(Cache::limit);
        let Some(cache) = used.or_else(|| Some(Cache::at(Cache::place()?, 0))) else {
            writeln!(out, "there is no cache: HOME is not set")?;
            return Ok(exit_code::DONE);
        };
        let folder = cache.folder().display();
        if self.clear {
            cache.clear().with_context(|| format!("{folder}: cannot be cleared"))?;
        }
        let holds = cache.holds();
        let mebibytes = |bytes: u64| bytes as f64 / f64::from(1 << 20);
        let size = mebibytes(holds.bytes);
        if let Some(why) = cache.unusable() {
            writeln!(out, "{folder}: not used: {why}")?;
            return Ok(exit_code::DONE);
        }
        write!(out, "{folder}: {} programs and libraries, {size:.1} ", holds.entries)?;
        match (limit, malformed) {
            (Some(limit), _) => writeln!(out, "of at most {:.1} MiB", mebibytes(limit))?,
            (None, Some(why)) => writeln!(out, "MiB; not used: {why}")?,
            (None, None) => writeln!(out, "MiB; not used: {SIZE_VARIABLE}=256M would turn it on")?,
        }
        Ok(exit_code::DONE)
    }
}
