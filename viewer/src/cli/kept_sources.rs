//! Lines of source files in a profile: how they are asked for, and what is said of them.

use std::collections::{BTreeSet, HashMap};

use clap::Args;
use csprof_format::error::Error;
use csprof_format::ids::{ModuleId, StringId};
use csprof_format::profile as saved;

use super::size::memory_size;
use crate::profile::merge::CONFLICT;
use crate::sources::Sources;
use crate::sources::keep::{Keeping, When, keep};
use crate::symbols::code::written_ns;
use crate::symbols::files::DiskFiles;
use crate::views::number::{Form, binary_bytes, counted};

/// What all warnings about source files that a profile keeps begin with.
const ABOUT: &str = "source files: ";

/// What is said where nobody had time for them.
pub(super) const LEFT_FOR_LATER: &str =
    "source files: left for later; csprof symbolize --sources FILE adds them";

/// Files that are named of those that found no room, and of those that cannot be read.
const NAMED: usize = 3;

/// Files that are named of those that were added to a profile.
const ADDED: usize = 40;

/// Most bytes of source that a profile keeps, and the least that may be asked for.
const MOST: u64 = 64 << 20;
const LEAST: u64 = 64 << 10;

/// Whether a profile keeps source files.
#[derive(Clone, Debug, Args)]
pub(super) struct KeepSources {
    /// Keep the source of sampled functions in the profile, so that it is shown where the files are
    /// not; at most SIZE (64k to 64M), 8M without it. Whoever has the profile can read them
    ///
    /// The files that cost most come first. Small files are kept as a whole, of others the lines of
    /// sampled functions and those around them, 1 MiB of a file at most. Only text is kept, of
    /// files called like source; that may be any that you can read, where the profile came from
    /// somebody else. The profile can be read by its owner alone. csprof info says what is kept;
    /// csprof symbolize adds it later, on the machine that has the files, or removes it.
    #[arg(
        long,
        value_name = "SIZE",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "8M",
        value_parser = size
    )]
    sources: Option<u64>,
}

/// `8M`, `64k`, or a number of bytes.
fn size(text: &str) -> Result<u64, String> {
    let size = memory_size(text).ok().filter(|size| (LEAST..=MOST).contains(size));
    size.ok_or_else(|| "a profile keeps 64k to 64M of source, for instance 8M".to_owned())
}

impl KeepSources {
    /// Most bytes that are kept, if any are to be.
    pub(super) fn most(&self) -> Option<u64> {
        self.sources
    }
}

/// Lets a profile keep source files, until `stops` says that there is no time for more. What found
/// no room becomes a warning in it. Says what is kept, and which files were added later.
pub(super) fn keep_sources(
    profile: &mut saved::Profile,
    (sources, when): (&Sources, When),
    most: u64,
    files: &DiskFiles,
    stops: &dyn Fn() -> bool,
) -> Vec<String> {
    let is_stale = |warning: &str| warning.starts_with(ABOUT) && !warning.starts_with(CONFLICT);
    profile.run.warnings.retain(|warning| !is_stale(warning));
    let modules: BTreeSet<ModuleId> = profile.functions.iter().map(|of| of.module).collect();
    let built = |module| Some((module, written_ns(profile, module, files)?));
    let built: HashMap<ModuleId, u64> = modules.into_iter().filter_map(built).collect();
    let keeping = keep(profile, sources, when, most, &built, stops);
    profile.run.warnings.extend(unfit(&keeping, most));
    let added = if when == When::Later { told_added(&keeping.added) } else { Vec::new() };
    added.into_iter().chain([told(profile, &keeping)]).collect()
}

/// Saves a profile, and if that fails without the source files that it keeps: samples count more.
/// The second value is whether they are in it.
///
/// # Errors
/// Those of `save`.
pub(super) fn saved_at_least_without<T>(
    profile: &mut saved::Profile,
    save: impl Fn(&saved::Profile) -> Result<T, Error>,
) -> Result<(T, bool), Error> {
    match save(profile) {
        Ok(saved) => Ok((saved, true)),
        Err(error) if !profile.sources.is_empty() => {
            remove_sources(profile);
            let warning = format!("{ABOUT}none are kept, with them saving failed: {error}");
            profile.run.warnings.push(warning);
            Ok((save(profile)?, false))
        }
        Err(error) => Err(error),
    }
}

/// Removes the source files of a profile, and what was said of them.
pub(super) fn remove_sources(profile: &mut saved::Profile) -> String {
    let removed = profile.sources.len() as u64;
    profile.sources.clear();
    profile.run.warnings.retain(|warning| !warning.starts_with(ABOUT));
    // Of a merged run, the name of its file comes first.
    let of_part = format!(": {ABOUT}");
    for run in &mut profile.runs {
        let warnings = &mut run.info.warnings;
        warnings.retain(|warning| !warning.starts_with(ABOUT) && !warning.contains(&of_part));
    }
    format!("{ABOUT}{} removed", counted(removed, "file", Form::Ascii))
}

fn told(profile: &saved::Profile, keeping: &Keeping) -> String {
    let form = Form::Ascii;
    let paths: BTreeSet<StringId> = profile.sources.iter().map(|file| file.path).collect();
    let size = profile.sources.iter().map(|file| file.text.len() as u64).sum();
    let files = counted(paths.len() as u64, "file", form);
    let kept = format!("{ABOUT}{files} kept in the profile, {}", binary_bytes(size, form));
    let others = [
        (keeping.missing, "not found here"),
        (keeping.no_source, "no source text by name or content"),
        (keeping.other_versions, "of another version"),
        (keeping.unfit.len(), "not, or not wholly, for lack of room"),
        (keeping.too_long.len(), "not wholly, with more than 1 MiB to keep"),
    ];
    let others = others.into_iter().filter(|(files, _)| *files > 0);
    let mut others: Vec<String> = others.map(|(files, what)| format!("{files} {what}")).collect();
    if !keeping.unreadable.is_empty() {
        let (files, why) = (keeping.unreadable.len(), named(&keeping.unreadable));
        others.push(format!("{files} could not be read ({why})"));
    }
    let others = if others.is_empty() { String::new() } else { format!("; {}", others.join(", ")) };
    let stopped = if keeping.is_stopped { "; not all files were looked at" } else { "" };
    format!("{kept}{others}{stopped}")
}

/// The files that a profile has now and had not: it may have named any.
fn told_added(added: &[String]) -> Vec<String> {
    let more = added.len().saturating_sub(ADDED);
    let rest = (more > 0).then(|| format!("and {more} more; csprof info --format json lists all"));
    let added = added.iter().take(ADDED).map(|path| format!("added {path}"));
    added.chain(rest).collect()
}

/// The first of some texts, and how many more there are.
fn named(all: &[String]) -> String {
    let mut named: Vec<String> = all.iter().take(NAMED).cloned().collect();
    let more = all.len().saturating_sub(named.len());
    named.extend((more > 0).then(|| format!("{more} more")));
    named.join(", ")
}

/// What found no room, and what helps.
fn unfit(keeping: &Keeping, most: u64) -> Vec<String> {
    let size = binary_bytes(most, Form::Ascii);
    let advice = if most < MOST { "; --sources=SIZE takes more" } else { "" };
    let unfit = (!keeping.unfit.is_empty()).then(|| {
        let named = named(&keeping.unfit);
        format!("{ABOUT}no room for all sampled functions of {named} within {size}{advice}")
    });
    let too_long = (!keeping.too_long.is_empty()).then(|| {
        let named = named(&keeping.too_long);
        format!("{ABOUT}no room for all sampled functions of {named}: 1 MiB is kept of a file")
    });
    unfit.into_iter().chain(too_long).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_two_ends() {
        assert_eq!([size("64k"), size("8M"), size("64M")], [Ok(LEAST), Ok(8 << 20), Ok(MOST)]);
        for text in ["1k", "65M", "512M", "much"] {
            assert!(size(text).unwrap_err().contains("64k to 64M"), "{text}");
        }
    }

    #[test]
    fn nothing_is_advised_that_does_not_help() {
        let named = vec!["/a.c".to_owned()];
        let unfit_of = |keeping: &Keeping, most| unfit(keeping, most).join("|");
        let keeping = Keeping { unfit: named.clone(), ..Keeping::default() };
        assert!(unfit_of(&keeping, 8 << 20).ends_with("within 8 MiB; --sources=SIZE takes more"));
        assert!(unfit_of(&keeping, MOST).ends_with("of /a.c within 64 MiB"));
        let keeping = Keeping { too_long: named, ..Keeping::default() };
        assert!(unfit_of(&keeping, 8 << 20).ends_with("of /a.c: 1 MiB is kept of a file"));
    }

    #[test]
    fn what_was_said_of_source_goes_with_it() {
        let mut profile = saved::Profile::default();
        let failing = |profile: &saved::Profile| match profile.sources.is_empty() {
            true => Ok(()),
            false => csprof_format::read::read(b"").map(drop),
        };
        profile.sources.push(saved::SourceFile::default());
        assert_eq!(saved_at_least_without(&mut profile, failing).unwrap(), ((), false));
        assert!(profile.run.warnings[0].starts_with("source files: none are kept"));
        profile.run.warnings.push("other".to_owned());
        let mut merged = saved::MergedRun::default();
        merged.info.warnings = vec!["a.csprof: source files: x".to_owned(), "b: y".to_owned()];
        profile.runs.push(merged);
        let mut again = profile.clone();
        assert_eq!(remove_sources(&mut profile), "source files: 0 files removed");
        assert_eq!(profile.run.warnings, ["other"]);
        assert_eq!(profile.runs[0].info.warnings, ["b: y"]);
        let here = Sources::default();
        let files = DiskFiles::from_environment(&[]);
        keep_sources(&mut again, (&here, When::Later), MOST, &files, &|| false);
        assert_eq!(again.run.warnings, ["other"]);
    }
}
