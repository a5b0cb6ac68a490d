//! `csprof merge`: by one process, or by several, of which each has a [`Share`] of the files and
//! share 0 writes the output.

mod meeting;
mod member;
mod parts;
mod read_ahead;
mod share;
mod together;

#[cfg(test)]
mod tests;

use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{ArgAction, Args};
use csprof_format::profile as saved;
use csprof_format::whole_file::is_same;

use self::meeting::Meeting;
use self::parts::{Parts, names_were_sought};
use self::read_ahead::in_order;
use self::share::Share;
use self::together::{ShareSum, Task};
use super::amount_of_time::amount_of_time;
use super::closing::resolve;
use super::exit_code::{self, WrongUsage};
use super::live;
use super::open::read_part;
use super::progress::Progress;
use super::saved_stages::SavedStages;
use crate::job_place::place_here;
use crate::launch::file_name::SUFFIX;
use crate::launch::output::Output;
use crate::launch::ranks;
use crate::print;
use crate::profile::merge::CommonStages;
use crate::profile::reduce::{Keep, Reduction, job_size, ranks_of};
use crate::symbols::files::DiskFiles;
use crate::views::number::{Form, counted};

const EXAMPLES: &str = "\
More than 8 ranks, each of which comes once, are summed: a path is one path, whichever rank ran it, \
with how its cost is spread over all ranks. `rank = 17` refines to ranks that are kept apart: \
--keep-ranks says which. Fewer ranks, runs without ranks, and runs that have the same rank are kept \
apart, as all are with --concat. Samples, losses, returns and CPU times are those of all together.

All runs must be of the same sources and periods; csprof diff compares runs that are not. Names that \
ranks have left for later are found once for all, if the files that ran are on this machine.

Behind a launcher (srun, mpirun), each process reads its share of the files, and the sums are added in \
a tree, by files in OUT.parts beside OUT, which all must see. The file is the one that a single \
process writes.

Examples:
  csprof merge -o both.csprof rank0.csprof rank1.csprof
  csprof merge -o job.csprof --expect-ranks 256 profiles/
  srun csprof merge -o job.csprof --expect-ranks 4096 profiles/
  csprof merge -f -o all.csprof run.*.csprof && csprof view all.csprof";

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
    /// Sum the ranks, and keep these apart: each that has the most of all of some call, with what
    /// is below it, that is a tenth of its cost or more, all, or none [default: top, of more than 8
    /// ranks]
    #[arg(long, value_name = "WHICH", value_parser = keep())]
    keep_ranks: Option<Keep>,
    /// Say which of ranks 0 to N - 1 are in none of the profiles, and which are beyond [default: as
    /// many as the launcher has told the ranks, if it has]
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
    /// Do share I of N, from 0, of a merge of which other processes do the others [default: the
    /// rank that a launcher gave this process]
    #[arg(long, help_heading = "Several processes", value_name = "I/N")]
    share: Option<Share>,
    /// Give up when another share has not begun, or is not heard of any more, for so long
    #[arg(long, help_heading = "Several processes", value_name = "TIME", value_parser = amount_of_time,
        default_value = "2m")]
    timeout: Duration,
}

fn keep() -> impl TypedValueParser<Value = Keep> {
    PossibleValuesParser::new(["top", "all", "none"]).map(|name| match &*name {
        "all" => Keep::All,
        "none" => Keep::None,
        _ => Keep::Top,
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

impl Merged {
    /// The profile says which files are left out of it.
    fn new(
        mut profile: saved::Profile,
        kept: usize,
        lacks_names: bool,
        left_out: &[String],
    ) -> Self {
        let left_out = left_out.iter().map(|error| format!("left out of the merge: {error}"));
        profile.run.warnings.extend(left_out);
        Self { profile, kept, lacks_names }
    }
}

/// Says which of so many files are left out, and which stages.
fn tell_left_out(stages: &CommonStages, left_out: &[String], files: usize) -> Result<()> {
    for error in left_out {
        print::message(format_args!("left out: {error}"))?;
    }
    if left_out.len() == files {
        bail!("none of {files} files can be read");
    }
    SavedStages::default().tell_left_out(stages)?;
    Ok(())
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
        let share = Share::here(self.share, place_here())?;
        self.run_share(share)?;
        Ok(exit_code::DONE)
    }

    fn run_share(&self, share: Share) -> Result<()> {
        let files = self.files(share);
        // Others are told why there are none, once they are there.
        let files = if share.is_whole() { Ok(files?) } else { files };
        // Before the work, so that nobody waits in vain.
        let output = Output::new(Some(&self.output), self.output.as_os_str(), self.force)?;
        if !output.makes_a_file() {
            if !share.is_whole() {
                bail!("{}: is no file, and shares are merged beside one", self.output.display());
            }
            return self.save(self.merged(&files?, share)?, &output);
        }
        let task = files.as_ref().map_or_else(|_| String::new(), |files| self.described(files));
        let meeting = Meeting::join(&self.output, share, task, self.timeout)?;
        match self.work(share, &meeting, files, &output) {
            Ok(()) if share.number == 0 => meeting.done(),
            Ok(()) => meeting.wait_for_end()?,
            Err(error) => return Err(meeting.fail(error)),
        }
        Ok(())
    }

    /// Does a share, which for share 0 ends with the output.
    fn work(
        &self,
        share: Share,
        meeting: &Meeting,
        files: Result<Vec<PathBuf>>,
        output: &Output,
    ) -> Result<()> {
        let files = files?;
        if share.is_whole() {
            return self.save(self.merged(&files, share)?, output);
        }
        let Self { keep_ranks: keep, salvage, skip_damaged, .. } = *self;
        let sum = match self.concat {
            true => ShareSum::not_in_shares("--concat keeps runs apart"),
            false => Task { files: &files, keep, salvage, skip_damaged }.sum(share, meeting)?,
        };
        let Some(sum) = sum.gather(share, meeting)? else { return Ok(()) };
        let merged = match sum.finish(keep) {
            Ok((profile, kept, notes)) => {
                let mut stages = CommonStages::default();
                notes.stages.iter().for_each(|(_, name, of)| stages.add(name, of));
                let left_out: Vec<String> =
                    notes.left_out.into_iter().map(|(_, error)| error).collect();
                tell_left_out(&stages, &left_out, files.len())?;
                Merged::new(profile, kept, notes.lacks_names, &left_out)
            }
            Err(cause) => {
                print::message(format_args!("{cause}: share 0 merges all files alone"))?;
                self.merged(&files, share)?
            }
        };
        self.save(merged, output)
    }

    /// Finds names, if they are to be found, and saves the profile.
    fn save(&self, merged: Merged, output: &Output) -> Result<()> {
        let Merged { mut profile, kept, lacks_names } = merged;
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
        // What is said of one run goes with it into further merges, where the others may be.
        if profile.is_sum() || !profile.runs.is_empty() {
            profile.run.warnings.extend(missing.clone());
        }
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
        Ok(())
    }

    /// What is merged and how, which is the same in all shares.
    fn described(&self, files: &[PathBuf]) -> String {
        let mut hasher = DefaultHasher::new();
        let how = (self.concat, self.salvage, self.skip_damaged, self.no_symbols);
        (env!("CARGO_PKG_VERSION"), how, format!("{:?}", self.keep_ranks)).hash(&mut hasher);
        files.hash(&mut hasher);
        format!("{} files ({:016x})", files.len(), hasher.finish())
    }

    /// The files, with those in folders, in the order of their names.
    fn files(&self, share: Share) -> Result<Vec<PathBuf>> {
        let mut files = Vec::new();
        for file in &self.files {
            let is_of_process = file.as_os_str() == "-" || live::named(file).is_some();
            if is_of_process && !share.is_whole() {
                return Err(WrongUsage(format!(
                    "{}: is not the same in all processes that a launcher starts; --share 0/1 merges \
                     it in one",
                    file.display()
                ))
                .into());
            }
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
        if let Some(file) = files.iter().find(|file| is_same(file, &self.output)) {
            bail!(
                "{}: is one of the profiles to merge and would be replaced; name another file with -o",
                file.display()
            );
        }
        Ok(files)
    }

    /// All of them as one profile, made by this process.
    fn merged(&self, files: &[PathBuf], share: Share) -> Result<Merged> {
        let mut progress = Progress::new("reading profiles");
        let mut stages = CommonStages::default();
        let mut left_out = Vec::new();
        let mut lacks_names = false;
        let mut parts = match self.keep_ranks {
            Some(keep) => Parts::Sum(Box::new(Reduction::new(keep))),
            None if self.concat => Parts::apart(),
            None => Parts::Held(Vec::new()),
        };
        let read = |place: usize| read_part(&files[place], self.salvage);
        in_order(files.len(), share.readers(), read, |place, read| {
            progress.report(place, files.len());
            let name = files[place].display().to_string();
            match read {
                Ok(part) => {
                    let profile = part.told()?;
                    stages.add(&name, &profile.stages);
                    lacks_names |= !names_were_sought(&profile);
                    parts.add(name, profile)
                }
                Err(error) if self.skip_damaged => {
                    left_out.push(format!("{error:#}"));
                    Ok(())
                }
                Err(error) => Err(error),
            }
        })?;
        drop(progress);
        tell_left_out(&stages, &left_out, files.len())?;
        let (profile, kept) = parts.finish()?;
        Ok(Merged::new(profile, kept, lacks_names, &left_out))
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
    if expected.is_none()
        && let Some(size) = job_size(merged)
    {
        return ranks::absent(&present, size).into_iter().collect();
    }
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
