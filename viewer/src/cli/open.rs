//! What subcommands that read a profile have in common: which file, which part of it.

use std::io::{self, Read};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail};
use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use csprof_format::error::Error;
use csprof_format::profile as saved;
use csprof_format::{read, salvage, whole_file};

use super::derive::Derive;
use super::exit_code::WrongUsage;
use super::live::{self, LiveRun};
use super::progress::Progress;
use super::saved_stages::{Begun, SavedStages};
use crate::print;
use crate::profile::comparison::{Rename, Scale, Scaling, ScalingKind};
use crate::profile::merge::{Agreement, CommonStages, Merger};
use crate::profile::{MetricRef, Profile};
use crate::refine::{Refined, Sets, marks};
use crate::set_files::SetFiles;
use crate::views::measure::Measure;
use crate::views::peers::workers;

/// The file to read.
#[derive(Debug, Args)]
pub struct ProfileFile {
    /// A saved profile; `-` reads it from standard input. Or a run that goes on, by its folder or
    /// one of its processes
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Read what is left of a damaged profile; what is missing is counted as lost
    #[arg(long)]
    salvage: bool,
}

impl ProfileFile {
    /// The files of sets of frames that belong to the profile.
    #[must_use]
    pub fn set_files(&self) -> SetFiles {
        SetFiles::of(Some(&self.file))
    }

    /// Opens and loads the profile.
    ///
    /// # Errors
    ///
    /// When the file cannot be read, is no profile, or is damaged.
    pub fn open(&self) -> Result<Profile> {
        Ok(Profile::from_saved(self.read()?))
    }

    fn read(&self) -> Result<saved::Profile> {
        read_profile(&self.file, self.salvage)
    }
}

/// A profile that was read.
pub(super) struct Part {
    profile: saved::Profile,
    /// What is lost of a damaged one, for people.
    damage: Option<String>,
    /// Whether it is of a sum, and does not say of which ranks.
    lost_ranks: bool,
}

impl Part {
    /// The profile, after saying what is lost of it.
    ///
    /// # Errors
    ///
    /// When standard error cannot be written.
    pub(super) fn told(self) -> io::Result<saved::Profile> {
        self.damage.map_or(Ok(()), print::message)?;
        Ok(self.profile)
    }
}

/// Reads a saved profile; `-` is standard input. With `salvage`, what is left of a damaged one.
///
/// # Errors
///
/// When the file cannot be read, is no profile, or is damaged.
pub(super) fn read_profile(file: &Path, salvage: bool) -> Result<saved::Profile> {
    Ok(read_any(file, salvage)?.told()?)
}

/// Reads a profile that is to be added to others.
///
/// # Errors
///
/// Those of [`read_profile`], and when its ranks might be in others, too, since it does not say
/// which they are.
pub(super) fn read_part(file: &Path, salvage: bool) -> Result<Part> {
    let part = read_any(file, salvage)?;
    if part.lost_ranks {
        bail!(
            "{}: which ranks this sum is of is lost, so that some might count twice; merge the \
             profiles that it was made of",
            file.display()
        );
    }
    Ok(part)
}

fn read_any(file: &Path, salvage: bool) -> Result<Part> {
    let whole = |profile| Part { profile, damage: None, lost_ranks: false };
    if let Some(run) = live::named(file) {
        return LiveRun::find(Some(run))?.saved().map(whole);
    }
    let stdin = if file.as_os_str() == "-" {
        let mut bytes = Vec::new();
        io::stdin().read_to_end(&mut bytes).context("standard input")?;
        Some(bytes)
    } else {
        None
    };
    if !salvage {
        return match stdin {
            Some(bytes) => read::read(&bytes).map(whole).map_err(|error| complete(&error, true)),
            None => read::open(file).map(whole).map_err(|error| complete(&error, false)),
        };
    }
    let salvaged = match stdin {
        Some(bytes) => salvage::salvage(&bytes).map_err(|error| complete(&error, true))?,
        None => salvage::open(file).map_err(|error| complete(&error, false))?,
    };
    let damage = salvaged.damage.is_some().then(|| salvaged.to_string());
    Ok(Part { profile: salvaged.profile, damage, lost_ranks: salvaged.lost_ranks })
}

/// Several files to read.
#[derive(Clone, Debug, Args)]
pub struct ProfileFiles {
    /// Saved profiles; `-` reads one from standard input. Or a run that goes on, by its folder or
    /// one of its processes
    #[arg(value_name = "FILE", required = true)]
    pub(super) files: Vec<PathBuf>,
    /// Read what is left of damaged profiles; what is missing is counted as lost
    #[arg(long)]
    pub(super) salvage: bool,
}

impl ProfileFiles {
    /// The files of sets of frames that belong to a single profile.
    #[must_use]
    pub fn set_files(&self) -> SetFiles {
        match &self.files[..] {
            [file] => SetFiles::of(Some(file)),
            _ => SetFiles::of(None),
        }
    }

    /// The first file as the user wrote it, and how many there are besides it.
    #[must_use]
    pub fn name(&self) -> String {
        let first = self.files.first().map_or_else(String::new, |file| file.display().to_string());
        match self.files.len() {
            0 | 1 => first,
            files => format!("{first} +{}", files - 1),
        }
    }

    /// Refuses an output that is one of the files.
    ///
    /// # Errors
    ///
    /// [`WrongUsage`] if it is.
    pub(super) fn refuse_to_replace(&self, output: &Path) -> Result<(), WrongUsage> {
        match self.files.iter().find(|file| whole_file::is_same(file, output)) {
            Some(file) => {
                let file = file.display();
                Err(WrongUsage(format!("-o: {file} is what is read; name another file")))
            }
            None => Ok(()),
        }
    }

    /// Opens and loads the files, several of them as one profile.
    ///
    /// # Errors
    ///
    /// As for [`ProfileFiles::merged`].
    pub(super) fn open(&self, saved: SavedStages) -> Result<Profile> {
        Ok(Profile::from_saved(match &self.files[..] {
            [file] => read_profile(file, self.salvage)?,
            _ => self.merged(saved)?,
        }))
    }

    /// Reads all files into one profile, and says which stages it has not from all of them, if any
    /// count.
    ///
    /// # Errors
    ///
    /// When a file cannot be read, or they do not go together.
    pub(super) fn merged(&self, saved: SavedStages) -> Result<saved::Profile> {
        self.merged_looking(saved, &mut |_| {})
    }

    /// The same, looking at each of the profiles.
    ///
    /// # Errors
    ///
    /// As for [`ProfileFiles::merged`].
    pub(super) fn merged_looking(
        &self,
        saved: SavedStages,
        look: &mut dyn FnMut(&saved::Profile),
    ) -> Result<saved::Profile> {
        let mut progress = Progress::new("reading profiles");
        let mut merger = Merger::new(Agreement::SameMetrics);
        let mut stages = CommonStages::default();
        for (place, file) in self.files.iter().enumerate() {
            progress.report(place, self.files.len());
            let profile = read_part(file, self.salvage)?.told()?;
            let name = file.display().to_string();
            stages.add(&name, &profile.stages);
            look(&profile);
            merger.add(&name, profile)?;
        }
        drop(progress);
        saved.tell_left_out(&stages)?;
        Ok(merger.finish())
    }
}

/// The error as one line: its own text has the cause in it already.
fn complete(error: &Error, from_stdin: bool) -> anyhow::Error {
    if from_stdin { anyhow!("standard input: {error}") } else { anyhow!("{error}") }
}

/// Problems of the files of sets that are told at most.
const MOST_PROBLEMS: usize = 20;

/// Tells what is wrong in the files of sets.
///
/// # Errors
///
/// When standard error cannot be written.
pub(super) fn tell_problems(sets: &Sets) -> io::Result<()> {
    let problems = sets.problems();
    for problem in problems.iter().take(MOST_PROBLEMS) {
        print::message(problem)?;
    }
    match problems.len().saturating_sub(MOST_PROBLEMS) {
        0 => Ok(()),
        more => print::message(format_args!("and {more} more problems with sets")),
    }
}

/// Which paths are reported, and as what.
#[derive(Debug, Args)]
pub struct Selection {
    /// Refine the call paths first: `through MPI_* | hide module:libomp*`; several are applied one
    /// after the other, and `@NAME` stands for what `:save-refinement NAME` saved in the viewer
    #[arg(long, value_name = "TEXT")]
    refine: Vec<String>,
    #[command(flatten)]
    pub(super) saved: SavedStages,
    /// What is counted: a sample source of the profile, such as `realtime`, or `samples` of the
    /// first source [default: the first source]
    #[arg(long, value_name = "NAME")]
    metric: Option<String>,
}

impl Selection {
    /// Applies the refinement, and looks at the metric that was asked for. The refinement may name
    /// the sets of frames in these files. Returns its text, too, if it has stages. Output that
    /// `shows` that text tells of the profile's own stages; for other output, standard error does.
    ///
    /// # Errors
    ///
    /// [`WrongUsage`] if the text is no refinement, or there is no such metric; another error if it
    /// asks for something that the profile does not have.
    pub fn apply(
        &self,
        profile: &Profile,
        files: &SetFiles,
        shows: bool,
    ) -> Result<(Refined, Option<String>)> {
        let text = joined(&self.refine);
        let (begun, refined) = parsed(&text, profile, self.saved, files)?;
        let refined = applied(refined, &begun, &text)?;
        if !shows {
            begun.tell()?;
        }
        let refined = match self.counted(profile)? {
            Some((_, metric)) => refined.looking_at(metric),
            None => refined,
        };
        // What a name stands for may be another thing tomorrow.
        let has_name = text.contains('@') && !files.load().refinements().is_empty();
        let shown = match begun.saved {
            0 if !has_name => text,
            _ => begun.refinement.to_string(),
        };
        Ok((refined, Some(shown).filter(|text| !text.trim().is_empty())))
    }

    /// The measure that was asked for, if any.
    ///
    /// # Errors
    ///
    /// [`WrongUsage`] with the names there are.
    pub fn measure(&self, profile: &Profile) -> Result<Option<Measure>> {
        Ok(self.counted(profile)?.map(|(measure, _)| measure))
    }

    fn counted(&self, profile: &Profile) -> Result<Option<(Measure, MetricRef)>> {
        let named = |name: &String| Measure::named(name, profile);
        Ok(self.metric.as_ref().map(named).transpose().map_err(WrongUsage)?)
    }
}

/// The texts of several `--refine` as one: stages are applied one after the other.
pub(super) fn joined(refine: &[String]) -> String {
    let texts = refine.iter().filter(|text| !text.trim().is_empty());
    texts.map(String::as_str).collect::<Vec<_>>().join(" | ")
}

/// The refinement of `--refine`, which may name the sets in these files, behind the profile's own,
/// and the profile refined by these.
///
/// # Errors
///
/// [`WrongUsage`] if the text is no refinement.
pub(super) fn parsed(
    text: &str,
    profile: &Profile,
    saved: SavedStages,
    files: &SetFiles,
) -> Result<(Begun, Refined)> {
    let sets = files.load();
    if text.contains('@') {
        tell_problems(&sets)?;
    }
    let asked = sets.parse(text).map_err(|error| WrongUsage(format!("--refine:\n{error}")))?;
    let (begun, refined) = saved.before(asked, &Refined::base(profile), &sets);
    begun.left_out.iter().try_for_each(print::message)?;
    Ok((begun, refined))
}

/// A profile that is refined by its own stages, refined by all. An error shows its place in the
/// text.
///
/// # Errors
///
/// If the refinement asks for something that the profile does not have.
pub(super) fn applied(refined: Refined, begun: &Begun, text: &str) -> Result<Refined> {
    refined.refine_unwatched(&begun.refinement.stages[begun.saved..]).map_err(|error| {
        // A word of the language that stands for a frame is written with `\`, and seldom typed so.
        let bare = error.part.trim_start_matches('\\');
        let place = match text.find(&error.part) {
            Some(at) => Some((at, error.part.as_str())),
            None => text.rfind(bare).map(|at| (at, bare)),
        };
        let hint = |saved: String| {
            format!("\nbefore it comes `{saved}` of the profile; --no-saved-stages leaves it out")
        };
        let hint = begun.of_profile().map(hint).unwrap_or_default();
        match place {
            Some((at, part)) => {
                let before = text[..at].chars().count();
                let marked = part.chars().count();
                anyhow!("--refine:\n{text}\n{}\n{error}{hint}", marks(before, marked))
            }
            None => anyhow!("--refine: {error}{hint}"),
        }
    })
}

/// How the files of a comparison are read, and what is compared of them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Compare<'c> {
    /// Whether to read what is left of damaged profiles.
    pub(super) salvage: bool,
    /// The metric, by its name, or the first that both sides have.
    pub(super) metric: Option<&'c str>,
    pub(super) renames: &'c [Rename],
    pub(super) scale: Scale,
    pub(super) scaling: Option<ScalingKind>,
    /// The ranks or threads of each side, where they are given.
    pub(super) workers: Option<[u32; 2]>,
    pub(super) saved: SavedStages,
    /// Formulas that are computed of both sides.
    pub(super) derive: Option<&'c Derive>,
}

impl Compare<'_> {
    /// Amounts of the first metric that both sides have.
    pub(super) fn usual(salvage: bool, saved: SavedStages) -> Self {
        let (metric, scale) = (None, Scale::Amount);
        Self {
            salvage,
            metric,
            renames: &[],
            scale,
            scaling: None,
            workers: None,
            saved,
            derive: None,
        }
    }

    /// The files of each side as one profile that compares them.
    ///
    /// # Errors
    ///
    /// When a file cannot be read, or they measure different things; [`WrongUsage`] when no side
    /// has the metric, a formula names one that is not alike in all, or the numbers of ranks or
    /// threads do not fit.
    pub(super) fn open(self, files: [&[PathBuf]; 2]) -> Result<Profile> {
        let mut stages = CommonStages::default();
        let mut open = |file: &PathBuf| {
            let profile = read_profile(file, self.salvage)?;
            let name = file.display().to_string();
            stages.add(&name, &profile.stages);
            Ok::<_, anyhow::Error>((name, Profile::from_saved(profile)))
        };
        let mut side = |files: &[PathBuf]| files.iter().map(&mut open).collect::<Result<Vec<_>>>();
        let sides = [side(files[0])?, side(files[1])?];
        self.saved.tell_left_out(&stages)?;
        let profiles = || sides.iter().flatten().map(|(_, profile)| profile);
        if let Some(name) = self.metric {
            is_measured(name, profiles())?;
        }
        let scaling = self.scaling.map(|kind| self.scaled(kind, &sides)).transpose()?;
        // Those of one metric each are compared if they measure the same, whichever is named.
        let several = profiles().any(|profile| profile.metrics().count() > 1);
        let source = self.metric.filter(|_| several);
        let is_known = |name: &str| profiles().all(|profile| profile.metric_of(name).is_some());
        let beside = self.derive.map_or_else(Vec::new, |derive| derive.sources(is_known));
        let mut profile = Profile::compared_beside(sides, source, &beside, self.renames)?;
        if let Some(comparison) = &mut profile.comparison {
            comparison.scale = self.scale;
            comparison.scaling = scaling;
        }
        match self.derive {
            Some(derive) => derive.begun(profile),
            None => Ok(profile),
        }
    }

    /// The scaling of runs whose ranks or threads are counted, where they are not given.
    fn scaled(&self, kind: ScalingKind, sides: &[Vec<(String, Profile)>; 2]) -> Result<Scaling> {
        let count = |runs: &Vec<(String, Profile)>| -> Result<u32> {
            let count = |(name, run): &(String, Profile)| {
                let unknown = || {
                    WrongUsage(format!(
                        "{name}: threads that ran one after the other are counted together, so it is not \
                         known how many shared the work; --workers BASE,OTHER says how many there are"
                    ))
                };
                Ok::<_, WrongUsage>((
                    name.clone(),
                    workers(&Refined::base(run)).ok_or_else(unknown)?,
                ))
            };
            let mut counted = runs.iter().map(count).collect::<Result<Vec<_>, _>>()?.into_iter();
            let (first, workers) = counted.next().ok_or_else(|| anyhow!("no run"))?;
            match counted.find(|(_, others)| *others != workers) {
                Some((name, others)) => Err(WrongUsage(format!(
                    "{first} and {name} have different numbers of ranks or threads that share the \
                     work, {workers} and {others}, and runs of one side have as many; if they are \
                     counted wrong, --workers BASE,OTHER says how many there are"
                ))
                .into()),
                None => Ok(workers),
            }
        };
        let workers = match self.workers {
            Some(workers) => workers,
            None => [count(&sides[0])?, count(&sides[1])?],
        };
        let [base, other] = workers;
        if base >= other {
            let source = if self.workers.is_some() { "given" } else { "counted" };
            let cause = format!(
                "--scaling: the ranks or threads {source} are {base} in base and {other} in other; the \
                 run with fewer comes first, and --workers BASE,OTHER says how many there are"
            );
            return Err(WrongUsage(cause).into());
        }
        Ok(Scaling { kind, workers })
    }
}

/// Refuses a metric that no profile has.
fn is_measured<'p>(name: &str, profiles: impl Iterator<Item = &'p Profile>) -> Result<()> {
    let mut sources: Vec<String> = Vec::new();
    for profile in profiles {
        if profile.metric_of(name).is_some() {
            return Ok(());
        }
        for (_, metric) in profile.metrics() {
            let source = format!("`{}`", metric.source);
            if !sources.contains(&source) {
                sources.push(source);
            }
        }
    }
    let last = sources.pop().unwrap_or_default();
    // `diff` takes that word, and does not ask for it here.
    let samples = (name != "samples").then(|| "`samples`".to_owned());
    let names: Vec<String> = samples.into_iter().chain(sources).collect();
    let names = match names.join(", ") {
        names if names.is_empty() => last,
        names => format!("{names} and {last}"),
    };
    let cause = format!("no metric `{name}` in these profiles; they have {names}");
    Err(WrongUsage(cause).into())
}

/// Sides of a comparison that have several runs, or run on different numbers of ranks or threads.
#[derive(Clone, Debug, Args)]
pub(super) struct RunsOptions {
    /// Compare the FILEs before this, several runs of BASE, with these, one or more of OTHER; the
    /// spread between the runs is the noise
    #[arg(long, value_name = "FILE", num_args = 1..)]
    pub(super) with: Vec<PathBuf>,
    /// Show the scaling loss of OTHER, on more ranks or threads than BASE: strong, of the same work
    /// divided among more; weak, of as much work for each
    #[arg(long, value_name = "KIND", value_parser = scaling(), conflicts_with = "normalize")]
    pub(super) scaling: Option<ScalingKind>,
    /// The ranks or threads that share the work in BASE and in OTHER [default: counted]
    #[arg(long, value_name = "BASE,OTHER", value_parser = both_workers, requires = "scaling")]
    pub(super) workers: Option<[u32; 2]>,
}

/// Kinds of scaling by name.
fn scaling() -> impl TypedValueParser<Value = ScalingKind> {
    let kind = |name: String| match &*name {
        "weak" => ScalingKind::Weak,
        _ => ScalingKind::Strong,
    };
    PossibleValuesParser::new(["strong", "weak"]).map(kind)
}

/// `4,16`.
fn both_workers(text: &str) -> Result<[u32; 2], String> {
    let numbers: Vec<u32> = text
        .split(',')
        .map(|number| number.trim().parse().ok().filter(|number| *number > 0))
        .collect::<Option<_>>()
        .unwrap_or_default();
    numbers.try_into().map_err(|_| "numbers of ranks or threads are written as 4,16".to_owned())
}
