//! `csprof cache`

use std::io::Write as _;
use std::process::ExitCode;

use anyhow::{Context as _, Result};
use clap::Args;

use super::exit_code;
use crate::print;
use crate::symbols::cache::{Cache, SIZE_VARIABLE};

const HELP: &str = "\
What csprof has read from the debug information of a program is kept in csprof/names, in the folder of
XDG_CACHE_HOME or else ~/.cache, so that the next recording of that very build takes less time at its
end. The names are the same with and without it. What was not used for the longest time goes first.

CSPROF_CACHE_SIZE=64M sets how large it may be (256M if it is not set), CSPROF_CACHE_SIZE=0 turns it
off.";

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
        let Some(cache) = Cache::from_environment() else {
            writeln!(out, "there is no cache: {SIZE_VARIABLE} turns it off, or HOME is not set")?;
            return Ok(exit_code::DONE);
        };
        let folder = cache.folder().display();
        if self.clear {
            cache.clear().with_context(|| format!("{folder}: cannot be cleared"))?;
        }
        let holds = cache.holds();
        let mebibytes = |bytes: u64| bytes as f64 / f64::from(1 << 20);
        writeln!(
            out,
            "{folder}: {} programs and libraries, {:.1} of at most {:.1} MiB",
            holds.entries,
            mebibytes(holds.bytes),
            mebibytes(cache.limit())
        )?;
        Ok(exit_code::DONE)
    }
}
