//! `csprof merge`

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Result, bail};
use clap::Args;
use csprof_format::profile::{self as saved, SymbolSource};

use super::closing::{resolve, tell};
use super::exit_code;
use super::open::ProfileFiles;
use super::saved_stages::SavedStages;
use crate::launch::output::Output;
use crate::launch::ranks;
use crate::print;
use crate::symbols::{self, files::DiskFiles};
use crate::views::number::{Form, counted};

const EXAMPLES: &str = "\
Runs keep their processes, ranks, threads and epochs apart: `rank = 1` refines to one of them, and \
csprof info lists them. Samples, losses, returns and CPU times are those of all runs together. \
All runs must be of the same sources and periods; csprof diff compares runs that are not. Names that \
ranks have left for later are found once for all, if the files that ran are on this machine.

Examples:
  csprof merge -o all.csprof rank0.csprof rank1.csprof
  csprof merge -o all.csprof --expect-ranks 64 prof/*.csprof
  csprof merge -f -o all.csprof run.*.csprof && csprof view all.csprof";

/// Make one profile of several
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Merge {
    /// File to write
    #[arg(short, long, value_name = "OUT")]
    output: PathBuf,
    /// Replace OUT if it exists
    #[arg(short, long)]
    force: bool,
    /// Say which of so many ranks, from 0, are in none of the profiles
    #[arg(long, value_name = "N")]
    expect_ranks: Option<u32>,
    /// Find no names for profiles of `record --symbols=later`
    #[arg(long)]
    no_symbols: bool,
    #[command(flatten)]
    parts: ProfileFiles,
}

/// Whether somebody has looked for the names of a profile's functions.
fn names_were_sought(part: &saved::Profile) -> bool {
    let mut modules = part.frames.iter().filter_map(|frame| frame.module);
    modules.all(|module| {
        let module = &part.modules[module.index()];
        module.symbols != SymbolSource::NotAsked
            || !symbols::is_file(&part.strings[module.path.index()])
    })
}

impl Merge {
    /// Merges the profiles.
    ///
    /// # Errors
    ///
    /// When a profile cannot be read, the profiles do not go together, or the result cannot be
    /// saved. Then nothing is written.
    pub fn run(&self) -> Result<ExitCode> {
        let same = |file: &PathBuf| match (fs::canonicalize(file), fs::canonicalize(&self.output)) {
            (Ok(file), Ok(output)) => file == output,
            _ => false,
        };
        if let Some(file) = self.parts.files.iter().find(|file| same(file)) {
            bail!(
                "{}: is one of the profiles to merge and would be replaced; name another file with -o",
                file.display()
            );
        }
        // Before the work, so that nobody waits in vain.
        let output = Output::new(Some(&self.output), self.output.as_os_str(), self.force)?;
        let mut lacks_names = false;
        let mut look = |part: &saved::Profile| lacks_names |= !names_were_sought(part);
        let mut merged = self.parts.merged_looking(SavedStages::default(), &mut look)?;
        let files = DiskFiles::from_environment(&[]);
        let mut warnings = Vec::new();
        if lacks_names && !self.no_symbols {
            warnings = resolve(&mut merged, &files, &|| false);
        }
        warnings.extend(missing_ranks(&merged, self.expect_ranks));
        merged.run.warnings.extend(warnings.iter().cloned());
        output.save(&merged)?;
        files.remember();
        let warnings: Vec<String> =
            warnings.iter().map(|warning| format!("warning: {warning}")).collect();
        tell(&warnings);
        let form = Form::Unicode;
        let samples = merged.nodes.total_samples();
        print::message(format_args!(
            "{}: {} of {}; csprof view {0}",
            self.output.display(),
            counted(samples, "sample", form),
            counted(merged.runs.len().max(1) as u64, "run", form),
        ))?;
        Ok(exit_code::DONE)
    }
}

/// Which ranks are in none of the runs, of so many, or else below the greatest that is in one.
fn missing_ranks(merged: &saved::Profile, expected: Option<u32>) -> Option<String> {
    let ranks = merged.processes.iter().filter_map(|process| process.rank);
    let present: BTreeSet<u32> = ranks.collect();
    if let Some(expected) = expected {
        return ranks::absent(&present, expected);
    }
    let (list, count) = ranks::absent_list(&present, *present.last()?)?;
    let ranks = if count == 1 { "rank" } else { "ranks" };
    let last = present.last()?;
    Some(format!(
        "no profile of {ranks} {list} is among these, and one of rank {last} is; --expect-ranks N says \
         how many there should be"
    ))
}

#[cfg(test)]
mod tests {
    use csprof_format::address::FrameKind;
    use csprof_format::ids::{ModuleId, StringId};
    use csprof_format::profile::{Frame, GENERATED_CODE, Module, WAITS};

    use super::*;

    #[test]
    fn names_are_sought_of_what_has_them_in_a_file() {
        let sought = |path: &str| {
            let mut part = saved::Profile::default();
            part.strings.push(path.into());
            part.modules.push(Module { path: StringId(0), ..Module::default() });
            let module = Some(ModuleId(0));
            part.frames.push(Frame { kind: FrameKind::Leaf, module, offset: 1 });
            names_were_sought(&part)
        };
        assert!(sought(WAITS) && sought(GENERATED_CODE) && !sought("/bin/xz"));
    }
}
