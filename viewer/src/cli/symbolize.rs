//! `csprof symbolize`

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use csprof_format::profile as saved;
use csprof_format::write;

use super::closing::{resolve, shown_path, tell, told_of_cache};
use super::exit_code::{self, WrongUsage};
use super::kept_sources::{KeepSources, keep_sources, remove_sources};
use super::live;
use super::open::read_profile;
use super::source_paths::SourcePaths;
use crate::launch::output::Output;
use crate::profile::{Profile, name_of_file};
use crate::sources::keep::When;
use crate::symbols::files::DiskFiles;
use crate::views::names::{self, nameless};
use crate::views::number::{Form, counted, percent};
use crate::views::printable::printable;
use crate::views::summary::symbols_of;

const EXAMPLES: &str = "\
Debug symbols are looked for beside each file, in /usr/lib/debug, in the folders of --debug-dir and of \
CSPROF_DEBUG_PATH (separated by colons), and in the cache of debuginfod. Only those of the very build \
that ran are taken (by build id), and names that the profile has are kept where nothing better is \
found, so it may be done on any machine. A file without build id has to be the one that was loaded (by \
inode, size and times, which a copy of it does not have). Samples and counts stay as they are. With \
CSPROF_CACHE_SIZE, what is read of a file with a build id is remembered; see csprof cache --help.

Examples:
  csprof symbolize run.csprof                       after `apt-get install libfoo1-dbgsym`
  debuginfod-find debuginfo /usr/bin/git && csprof symbolize git.csprof
  csprof symbolize --sources -o with-source.csprof run.csprof
  csprof symbolize --debug-dir build/debug -o named.csprof run.csprof";

/// Look again for the names of a profile's functions, for instance in debug symbols installed since
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Symbolize {
    /// A saved profile, which is replaced if names are found, or source is kept or removed; `-`
    /// reads it from standard input
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// File to save instead
    #[arg(short, long, value_name = "OUT")]
    output: Option<PathBuf>,
    /// Replace OUT if it exists
    #[arg(short, long, requires = "output")]
    force: bool,
    /// A folder with separate debug files, such as `.build-id/ab/cdef.debug`; may be given more
    /// than once
    #[arg(long, value_name = "DIR")]
    debug_dir: Vec<PathBuf>,
    #[command(flatten)]
    kept: KeepSources,
    /// Remove the source files that the profile keeps
    #[arg(long, conflicts_with = "sources")]
    no_sources: bool,
    #[command(flatten)]
    paths: SourcePaths,
}

impl Symbolize {
    /// Looks for names, says what was found, and saves.
    ///
    /// # Errors
    ///
    /// When the profile cannot be read or saved.
    pub fn run(&self) -> Result<ExitCode> {
        if self.output.is_none() && self.file.as_os_str() == "-" {
            return Err(WrongUsage("a profile from standard input needs -o FILE".into()).into());
        }
        if self.output.is_none() && live::named(&self.file).is_some() {
            let file = self.file.display();
            return Err(WrongUsage(format!("{file} is a run; what it has needs -o FILE")).into());
        }
        let output = self
            .output
            .as_ref()
            .map(|path| Output::new(Some(path), path.as_os_str(), self.force))
            .transpose()?;
        let mut profile = read_profile(&self.file, false)?;
        let before = Names::of(&profile);
        let files = DiskFiles::from_environment(&self.debug_dir);
        let warnings = resolve(&mut profile, &files, &|| false);
        let after = Names::of(&profile);
        let kept_before = profile.sources.clone();
        let told_before = (profile.run.clone(), profile.runs.clone());
        let kept = match self.kept.most() {
            Some(most) => {
                let places = self.paths.sources();
                let places = (&places, When::Later);
                keep_sources(&mut profile, places, most, &files, &|| false)
            }
            None if self.no_sources => vec![remove_sources(&mut profile)],
            None => Vec::new(),
        };
        let is_renamed = before != after;
        let is_told = told_before != (profile.run.clone(), profile.runs.clone());
        let is_new = is_renamed || is_told || kept_before != profile.sources;

        let mut lines: Vec<String> =
            warnings.iter().map(|warning| format!("warning: {warning}")).collect();
        lines.extend(told_of_cache());
        if is_renamed {
            profile.run.warnings.extend(warnings);
        }
        let path = match &output {
            Some(output) => shown_path(&output.save(&profile)?),
            None => self.file.display().to_string(),
        };
        if output.is_none() && is_new {
            write::save(&profile, &self.file)?;
        }
        files.remember();
        let profile = Profile::from_saved(profile);
        lines.extend(gained(&profile, &before, &after));
        lines.extend(names::advice(&profile, Form::Ascii));
        let is_named = (&before.modules, &before.functions, &before.sites)
            != (&after.modules, &after.functions, &after.sites);
        lines.extend(kept);
        lines.push(match (is_renamed, &output) {
            (true, _) if !is_named => format!("{path}: no other names were found, but loops"),
            (false, None) if !is_new => {
                format!("{path}: no other names were found; the file is unchanged")
            }
            (false, _) => format!("{path}: no other names were found"),
            (true, _) => format!(
                "{path}: {}% of the samples are in functions without names, {}% before",
                share(&after),
                share(&before)
            ),
        });
        tell(&lines);
        Ok(exit_code::DONE)
    }
}

/// What a profile has of names, loops and tail calls.
#[derive(PartialEq, Eq)]
struct Names {
    modules: Vec<saved::Module>,
    functions: Vec<saved::Function>,
    sites: saved::Sites,
    structure: saved::Structure,
    /// Samples in functions without names, and all.
    nameless: (u64, u64),
}

impl Names {
    fn of(profile: &saved::Profile) -> Self {
        let loaded = Profile::from_saved(profile.clone());
        let unnamed = nameless(&loaded).iter().map(|one| one.samples).sum();
        Self {
            modules: profile.modules.clone(),
            functions: profile.functions.clone(),
            sites: profile.sites.clone(),
            structure: profile.structure.clone(),
            nameless: (unnamed, loaded.total()),
        }
    }
}

fn share(names: &Names) -> String {
    percent(names.nameless.0, names.nameless.1)
}

/// The modules of which more is known now, and where it came from.
fn gained(profile: &Profile, before: &Names, after: &Names) -> Vec<String> {
    const MOST: usize = 20;
    let changed = after
        .modules
        .iter()
        .zip(&before.modules)
        .filter(|(now, then)| now.symbols.worth() > then.symbols.worth());
    let all: Vec<String> = changed
        .filter(|(now, _)| !now.symbols.lacks_names())
        .map(|(now, _)| {
            let name = name_of_file(profile.string(now.path));
            format!("{}: {}", printable(name), symbols_of(profile, now))
        })
        .collect();
    let more = all.len().saturating_sub(MOST);
    let rest =
        (more > 0).then(|| format!("and {}", counted(more as u64, "more module", Form::Ascii)));
    all.into_iter().take(MOST).chain(rest).collect()
}
