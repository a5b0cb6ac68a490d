//! Profiles of programs that run: named by run folder or process, read at any moment.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Result, bail};
use csprof_format::profile as saved;

use super::closing::resolve;
use crate::launch::run_dir::RunDir;
use crate::launch::running::{self, Running};
use crate::profile::Profile;
use crate::symbols::cache::Cache;
use crate::symbols::files::DiskFiles;
use crate::tui::reading::{LiveReader, Reading};

/// Bytes of names that are kept from reading to reading.
const NAMES_KEPT: u64 = 1 << 30;

/// A program that runs, to be read more than once.
pub(super) struct LiveRun {
    run: Running,
    /// Names once found are kept.
    files: Mutex<DiskFiles>,
    /// What was read last.
    last: Mutex<Option<Reading>>,
}

impl LiveRun {
    /// The run of this name; see [`running::find`].
    ///
    /// # Errors
    ///
    /// One sentence that says why there is none.
    pub(super) fn find(name: Option<&str>) -> Result<Self> {
        let files = DiskFiles::from_environment(&[]).with_cache(Cache::in_memory(NAMES_KEPT));
        Ok(Self { run: running::find(name)?, files: Mutex::new(files), last: Mutex::new(None) })
    }

    /// What people call it: a process of it, which names it on a command line.
    pub(super) fn name(&self) -> String {
        let pid = self.run.recorder.or_else(|| self.run.processes.first().copied());
        pid.map_or_else(|| self.run.folder.display().to_string(), |pid| pid.to_string())
    }

    /// What it has sampled up to here, with names.
    ///
    /// # Errors
    ///
    /// When it has ended, and its data are gone.
    pub(super) fn saved(&self) -> Result<saved::Profile> {
        Ok(self.named()?.0)
    }

    /// The same, and for how long the run had gone on and was not paused, in nanoseconds.
    fn named(&self) -> Result<(saved::Profile, u64)> {
        let snapshot = self.run.read()?;
        let mut profile = snapshot.profile;
        if let Err(violation) = csprof_format::validate::validate(&profile) {
            bail!("{}: {violation}", self.run.folder.display());
        }
        let mut files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        files.set_copies(snapshot.copies);
        let warnings = resolve(&mut profile, &files, &|| false);
        profile.run.warnings.extend(warnings);
        Ok((profile, snapshot.sampled_ns))
    }

    /// The same, or what was read last where it has ended.
    ///
    /// # Errors
    ///
    /// When it had ended before anything was read.
    pub(super) fn read(&self) -> Result<Reading> {
        // Asked before it is read: what ends meanwhile is read once more.
        let is_over = !self.run.goes_on();
        let read = self.named();
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let mut reading = match (read, last.take()) {
            (Ok((profile, sampled_ns)), _) => {
                Reading { profile: Profile::from_saved(profile), is_over, sampled_ns }
            }
            (Err(_), Some(before)) if is_over || !self.run.goes_on() => {
                let mut reading = Reading { is_over: true, ..before };
                let said = "the run went on a little after this state and has ended".to_owned();
                reading.profile.info.run.warnings.push(said);
                reading
            }
            (Err(error), before) => {
                *last = before;
                return Err(error);
            }
        };
        if reading.is_over {
            let warnings = &mut reading.profile.info.run.warnings;
            warnings.retain(|warning| !warning.starts_with(saved::GOES_ON));
        }
        Ok(last.insert(reading).clone())
    }

    /// Who reads it for the viewer.
    pub(super) fn reader(self: &Arc<Self>) -> LiveReader {
        let run = Arc::clone(self);
        Arc::new(move || run.read())
    }
}

/// The run that stands in the place of a file: a run folder, or the id of a process, unless there
/// is a file of that name.
pub(super) fn named(file: &Path) -> Option<&str> {
    let name = file.to_str()?;
    let is_number = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_digit());
    let is_run = match file.metadata() {
        Ok(metadata) => metadata.is_dir() && RunDir::open(file).is_ok(),
        Err(_) => is_number || is_of_ended_run(file),
    };
    is_run.then_some(name)
}

/// Whether a path that leads nowhere could be that of a run folder: `csprof-4711-a1b2c3`.
fn is_of_ended_run(file: &Path) -> bool {
    let name = file.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let pid = name.strip_prefix("csprof-").and_then(|rest| rest.split_once('-'));
    pid.is_some_and(|(pid, rest)| pid.parse::<u32>().is_ok() && !rest.contains('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_or_a_number_names_a_run_unless_it_is_a_file() {
        let run_dir = RunDir::create().unwrap();
        assert_eq!(named(run_dir.path()), run_dir.path().to_str());
        for run in ["4711", "/dev/shm/csprof-4194305-a1b2c3"] {
            assert_eq!(named(Path::new(run)), Some(run));
        }
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(named(folder.path()), None);
        for no_run in ["run.csprof", "-", "", "47x", "csprof-1-2.csprof", "csprof-new"] {
            assert_eq!(named(Path::new(no_run)), None, "{no_run}");
        }
        let file = folder.path().join("4711");
        std::fs::write(&file, "a profile").unwrap();
        assert_eq!(named(&file), None);
    }
}
