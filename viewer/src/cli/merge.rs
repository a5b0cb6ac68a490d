//! `csprof merge`

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{ArgAction, Args};
use csprof_format::profile::{self as saved, SymbolSource};

use super::closing::resolve;
use super::exit_code;
use super::live;
use super::open::read_profile;
use super::progress::Progress;
use super::saved_stages::SavedStages;
use crate::launch::file_name::SUFFIX;
use crate::launch::output::Output;
use crate::launch::ranks;
use crate::print;
use crate::profile::merge::{Agreement, CommonStages, Merger};
use crate::profile::reduce::{Keep, Reduction, ranks_of, repeated_rank};
use crate::symbols::{self, files::DiskFiles};
use crate::views::number::{Form, counted};

const EXAMPLES: &str = "\
More than 8 ranks, each of which comes once, are summed: a path is one path, whichever rank ran it, \
with how its cost is spread over all ranks. `rank = 17` refines to ranks that are kept apart: \
--keep-ranks says which. Fewer ranks, runs without ranks, and runs that have the same rank are kept \
apart, as all are with --concat. Samples, losses, returns and CPU times are those of all together.

All runs must be of the same sources and periods; csprof diff compares runs that are not. Names that \
ranks have left for later are found once for all, if the files that ran are on this machine.

Examples:
  csprof merge -o both.csprof rank0.csprof rank1.csprof
  csprof merge -o job.csprof --expect-ranks 256 profiles/
  csprof merge -f -o all.csprof run.*.csprof && csprof view all.csprof";

/// Ranks that are kept apart unless something else is asked for.
const FEW_RANKS: usize = 8;

/// Ranks and files that are named in a message.
const MOST_NAMED: usize = 10;

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
    /// Keep all runs apart, with all their processes, threads and epochs
    #[arg(long, conflicts_with = "keep_ranks")]
    concat: bool,
    /// Sum the ranks, and keep these apart: each that has the most of all of some path that is a
    /// tenth of its cost or more, all, or none [default: top, of more than 8 ranks]
    #[arg(long, value_name = "WHICH", value_parser = keep())]
    keep_ranks: Option<Keep>,
    /// Say which of ranks 0 to N - 1 are in none of the profiles, and which are beyond
    #[arg(long, value_name = "N")]
    expect_ranks: Option<u32>,
    /// Leave out files that cannot be read, and name them; else one fails all
    #[arg(long, action = ArgAction::SetTrue)]
    skip_damaged: bool,
    /// Find no names for profiles of `record --symbols=later`
    #[arg(long)]
    no_symbols: bool,
    /// Saved profiles, or folders of them; `-` reads one from standard input. Or a run that goes
    /// on, by its folder or one of its processes
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// Read what is left of damaged profiles; what is missing is counted as lost
    #[arg(long)]
    salvage: bool,
}

fn keep() -> impl TypedValueParser<Value = Keep> {
    PossibleValuesParser::new(["top", "all", "none"]).map(|name| match &*name {
        "all" => Keep::All,
        "none" => Keep::None,
        _ => Keep::Top,
    })
}

/// The parts so far.
enum Parts {
    /// What is to become of them is not known yet: profiles with few ranks, and any without.
    Held(Vec<(String, saved::Profile)>),
    Apart(Box<Merger>),
    Sum(Box<Reduction>),
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

/// What several profiles become.
struct Merged {
    profile: saved::Profile,
    /// How many ranks a sum keeps apart.
    kept: usize,
    /// Whether nobody has looked for names of some part.
    lacks_names: bool,
}

fn told<'w>(warnings: impl IntoIterator<Item = &'w String>) -> Result<()> {
    for warning in warnings {
        print::message(format_args!("warning: {warning}"))?;
    }
    Ok(())
}

impl Merge {
    /// Merges the profiles.
    ///
    /// # Errors
    ///
    /// When a profile cannot be read, the profiles do not go together, a rank is missing, or the
    /// result cannot be saved. Then nothing is written.
    pub fn run(&self) -> Result<ExitCode> {
        let files = self.files()?;
        let same = |file: &PathBuf| match (fs::canonicalize(file), fs::canonicalize(&self.output)) {
            (Ok(file), Ok(output)) => file == output,
            _ => false,
        };
        if let Some(file) = files.iter().find(|file| same(file)) {
            bail!(
                "{}: is one of the profiles to merge and would be replaced; name another file with -o",
                file.display()
            );
        }
        // Before the work, so that nobody waits in vain.
        let output = Output::new(Some(&self.output), self.output.as_os_str(), self.force)?;
        let Merged { mut profile, kept, lacks_names } = self.merged(&files)?;
        let files = DiskFiles::from_environment(&[]);
        if lacks_names && !self.no_symbols {
            let warnings = resolve(&mut profile, &files, &|| false);
            told(&warnings)?;
            // A sum is the same whether its parts were summed before, with their names, or not: its
            // modules say why they have none, and its tables are put in order again.
            if profile.is_sum() {
                let warnings = std::mem::take(&mut profile.run.warnings);
                let mut ordered = Reduction::new(self.keep_ranks.unwrap_or(Keep::Top));
                ordered.add("the sum", &profile)?;
                profile = ordered.finish();
                profile.run.warnings = warnings;
            } else {
                profile.run.warnings.extend(warnings);
            }
        }
        let missing = missing_ranks(&profile, self.expect_ranks);
        profile.run.warnings.extend(missing.clone());
        output.save(&profile).map_err(|error| self.with_remedy(error.into(), &profile))?;
        files.remember();
        told(&missing)?;
        let merged = profile;
        let form = Form::Unicode;
        let samples = counted(merged.nodes.total_samples(), "sample", form);
        let name = self.output.display();
        if merged.is_sum() {
            let ranks = counted(merged.summed_ranks().len() as u64, "rank", form);
            print::message(format_args!(
                "{name}: {samples} of {ranks}, summed, {kept} of them kept apart; csprof view {name}"
            ))?;
        } else {
            let runs = counted(merged.runs.len().max(1) as u64, "run", form);
            print::message(format_args!("{name}: {samples} of {runs}; csprof view {name}"))?;
        }
        Ok(exit_code::DONE)
    }

    /// The files, with those in folders, in the order of their names.
    fn files(&self) -> Result<Vec<PathBuf>> {
        let mut files = Vec::new();
        for file in &self.files {
            if !file.is_dir() || live::named(file).is_some() {
                files.push(file.clone());
                continue;
            }
            let in_folder = || format!("{}", file.display());
            let mut found = Vec::new();
            for entry in fs::read_dir(file).with_context(in_folder)? {
                let path = entry.with_context(in_folder)?.path();
                if path.extension().is_some_and(|extension| extension == SUFFIX) {
                    found.push(path);
                }
            }
            if found.is_empty() {
                bail!("{}: no file in this folder ends in .{SUFFIX}", file.display());
            }
            found.sort();
            files.append(&mut found);
        }
        Ok(files)
    }

    /// All of them as one profile.
    fn merged(&self, files: &[PathBuf]) -> Result<Merged> {
        let mut progress = Progress::new("reading profiles");
        let mut stages = CommonStages::default();
        let mut left_out = Vec::new();
        let mut lacks_names = false;
        let mut parts = match self.keep_ranks {
            Some(keep) => Parts::Sum(Box::new(Reduction::new(keep))),
            None if self.concat => Parts::apart(),
            None => Parts::Held(Vec::new()),
        };
        for (place, file) in files.iter().enumerate() {
            progress.report(place, files.len());
            let name = file.display().to_string();
            match read_profile(file, self.salvage) {
                Ok(profile) => {
                    stages.add(&name, &profile);
                    lacks_names |= !names_were_sought(&profile);
                    parts.add(name, profile)?;
                }
                Err(error) if self.skip_damaged => left_out.push(error),
                Err(error) => return Err(error),
            }
        }
        drop(progress);
        for error in &left_out {
            print::message(format_args!("left out: {error:#}"))?;
        }
        if left_out.len() == files.len() {
            bail!("none of {} files can be read", files.len());
        }
        SavedStages::default().tell_left_out(&stages)?;
        let (mut profile, kept) = parts.finish()?;
        let left_out = left_out.iter().map(|error| format!("left out of the merge: {error:#}"));
        profile.run.warnings.extend(left_out);
        Ok(Merged { profile, kept, lacks_names })
    }

    /// Says how a sum that no reader would take becomes smaller.
    fn with_remedy(&self, error: anyhow::Error, merged: &saved::Profile) -> anyhow::Error {
        use csprof_format::error::ErrorKind;
        let is_too_large =
            error.downcast_ref::<csprof_format::error::Error>().is_some_and(|error| {
                matches!(error.kind(), ErrorKind::TooMuch { .. } | ErrorKind::Invalid(_))
            });
        match is_too_large && merged.is_sum() && self.keep_ranks == Some(Keep::All) {
            true => anyhow::anyhow!("{error:#}; --keep-ranks top or none keeps less"),
            false => error,
        }
    }
}

impl Parts {
    fn apart() -> Self {
        Self::Apart(Box::new(Merger::new(Agreement::SameMetrics)))
    }

    /// Adds a profile.
    fn add(&mut self, name: String, part: saved::Profile) -> Result<()> {
        match self {
            Self::Apart(merger) => drop(merger.add(&name, part)?),
            Self::Sum(reduction) => reduction.add(&name, &part)?,
            Self::Held(held) => {
                let ranks: Vec<BTreeSet<u32>> =
                    held.iter().map(|(_, part)| part).chain([&part]).map(ranks_of).collect();
                let count: usize = ranks.iter().map(BTreeSet::len).sum();
                let all: BTreeSet<u32> = ranks.iter().flatten().copied().collect();
                let is_sum = part.is_sum();
                let is_of_one_job = all.len() == count && repeated_rank(&part).is_none();
                // What has no ranks, such as the launcher, goes with any job, wherever it stands.
                let with_ranks = ranks.iter().filter(|ranks| !ranks.is_empty()).count();
                held.push((name, part));
                if is_sum || (is_of_one_job && count > FEW_RANKS && with_ranks > 1) {
                    self.settle(Self::Sum(Box::new(Reduction::new(Keep::Top))))?;
                } else if !is_of_one_job {
                    self.settle(Self::apart())?;
                }
            }
        }
        Ok(())
    }

    /// Makes of the parts that are held what they are to become.
    fn settle(&mut self, parts: Self) -> Result<()> {
        if let Self::Held(held) = std::mem::replace(self, parts) {
            for (name, part) in held {
                self.add(name, part)?;
            }
        }
        Ok(())
    }

    fn finish(mut self) -> Result<(saved::Profile, usize)> {
        if let Self::Held(held) = &self {
            let ranks: usize = held.iter().map(|(_, part)| ranks_of(part).len()).sum();
            self.settle(match ranks > FEW_RANKS {
                true => Self::Sum(Box::new(Reduction::new(Keep::Top))),
                false => Self::apart(),
            })?;
        }
        Ok(match self {
            Self::Apart(merger) => (merger.finish(), 0),
            Self::Sum(reduction) => {
                let kept = reduction.kept();
                (reduction.finish(), kept)
            }
            Self::Held(_) => unreachable!("they were settled"),
        })
    }
}

/// A list of ranks for people, of which the first are named.
fn named(ranks: &[u32]) -> String {
    let names: Vec<String> = ranks.iter().take(MOST_NAMED).map(u32::to_string).collect();
    let noun = if ranks.len() == 1 { "rank" } else { "ranks" };
    let names = names.join(", ");
    match ranks.len().saturating_sub(MOST_NAMED) {
        0 => format!("{noun} {names}"),
        more => format!("{noun} {names} and {more} more"),
    }
}

/// Which ranks are in none of the profiles, of so many, or else below the greatest that is in one;
/// and which are beyond.
fn missing_ranks(merged: &saved::Profile, expected: Option<u32>) -> Vec<String> {
    let present = ranks_of(merged);
    if let Some(expected) = expected {
        let beyond: Vec<u32> = present.range(expected..).copied().collect();
        let beyond = (!beyond.is_empty())
            .then(|| format!("of {expected} ranks expected: {} not expected", named(&beyond)));
        return ranks::absent(&present, expected).into_iter().chain(beyond).collect();
    }
    let Some(&last) = present.last() else { return Vec::new() };
    let told = |(list, count)| {
        let ranks = if count == 1 { "rank" } else { "ranks" };
        format!(
            "no profile of {ranks} {list} is among these, and one of rank {last} is; --expect-ranks N \
             says how many there should be"
        )
    };
    ranks::absent_list(&present, last).map(told).into_iter().collect()
}

#[cfg(test)]
mod tests {
    use csprof_format::address::FrameKind;
    use csprof_format::ids::{ModuleId, StringId};
    use csprof_format::profile::{Frame, GENERATED_CODE, Module, WAITS};

    use super::*;

    /// A profile of some ranks.
    fn of_ranks(start: u64, ranks: &[u32]) -> saved::Profile {
        let process = |&rank: &u32| saved::Process { rank: Some(rank), ..Default::default() };
        let mut profile = saved::Profile {
            processes: ranks.iter().map(process).collect(),
            ..saved::Profile::default()
        };
        profile.run.start_unix_ns = start;
        profile.metric.period = 1;
        profile
    }

    fn is_summed(parts: &[&[u32]]) -> bool {
        let mut all = Parts::Held(Vec::new());
        for (number, ranks) in (0..).zip(parts) {
            all.add(format!("{number}"), of_ranks(number, ranks)).unwrap();
        }
        all.finish().unwrap().0.is_sum()
    }

    /// Whoever merges a few runs, or repetitions, keeps all that they had.
    #[test]
    fn only_many_ranks_of_one_job_are_summed() {
        let ranks: Vec<[u32; 1]> = (0..9).map(|rank| [rank]).collect();
        let each: Vec<&[u32]> = ranks.iter().map(|rank| &rank[..]).collect();
        assert!(is_summed(&each));
        assert!(!is_summed(&each[1..]));
        let many: Vec<u32> = (0..64).collect();
        assert!(is_summed(&[&many]));
        assert!(is_summed(&[&many[..32], &many[32..]]));
        // Repetitions of one job, and runs without ranks.
        assert!(!is_summed(&[&many, &many]));
        let mut merged = of_ranks(0, &[&many[..], &many[..]].concat());
        let run = || saved::MergedRun { processes: 64, ..Default::default() };
        merged.runs = vec![run(), run()];
        let mut parts = Parts::Held(Vec::new());
        parts.add("both".to_owned(), merged).unwrap();
        assert!(!parts.finish().unwrap().0.is_sum());
        assert!(!is_summed(&[&[], &[], &[], &[], &[], &[], &[], &[], &[], &[]]));
        assert!(!is_summed(&[&[0, 1], &[0, 1], &[0, 1]]));
    }

    /// A run without ranks, as of the launcher, decides nothing, wherever it stands.
    #[test]
    fn what_has_no_ranks_is_summed_in_any_order() {
        let many: Vec<u32> = (0..64).collect();
        let [first, second] = [&many[..32], &many[32..]];
        for parts in [[&[], first, second], [first, &[], second], [first, second, &[]]] {
            assert!(is_summed(&parts), "{parts:?}");
        }
        assert!(is_summed(&[&[], &many]) && is_summed(&[&many, &[]]));
        let few = &many[..8];
        assert!(!is_summed(&[&[], few]) && !is_summed(&[few, &[]]));
        assert!(!is_summed(&[&[], first, first]) && !is_summed(&[first, first, &[]]));
    }

    #[test]
    fn a_second_run_of_a_rank_is_refused_once_others_are_summed() {
        let mut parts = Parts::Held(Vec::new());
        let many: Vec<u32> = (0..64).collect();
        parts.add("a".to_owned(), of_ranks(1, &many[..32])).unwrap();
        parts.add("b".to_owned(), of_ranks(2, &many[32..])).unwrap();
        let error = parts.add("c".to_owned(), of_ranks(3, &[5])).unwrap_err().to_string();
        assert!(
            error.contains("c: has rank 5, and so has a") && error.contains("--concat"),
            "{error}"
        );
    }

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
