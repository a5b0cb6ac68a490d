//! `run.json` in the run folder: what `record` knows about a run, written before the program
//! starts, so that `salvage` knows it when `record` itself was killed.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use csprof_format::launch::SampleSources;
use csprof_format::profile::RunInfo;
use serde::{Deserialize, Serialize};

use super::arena_read::Arena;
use super::gather::Run;
use super::metrics;
use super::run_dir::{RUN_FILE, RUN_FILE_UNFINISHED};
use super::run_phases::RunPhases;
use super::spawn::Naming;
use super::{file_name, foreign_file};
use crate::job_place;

/// More than arguments may have (execve(2): 6 MiB), each byte a number on a line of its own.
const MOST_BYTES: u64 = 128 << 20;

#[derive(Serialize, Deserialize)]
struct RunFile {
    info: RunInfo,
    sources: String,
    start_ns: u64,
    pid: Option<u32>,
    /// Earlier versions do not say it.
    #[serde(default)]
    naming: Naming,
    #[serde(default)]
    place: JobPlace,
    #[serde(default)]
    boot: String,
}

/// Where in a job the csprof was that has made a run folder.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct JobPlace {
    /// Id of the job, as the batch system or the launcher has it.
    pub job: Option<String>,
    /// The rank of csprof in it, and so of what it started.
    pub rank: Option<u32>,
    /// Ranks of the job.
    pub ranks: Option<u32>,
}

impl JobPlace {
    /// Whether it was one of several ranks.
    pub(super) fn has_peers(&self) -> bool {
        self.rank.is_some() && self.ranks != Some(1)
    }

    /// That of this process.
    fn here() -> Self {
        let place = job_place::place_here();
        let ranks = place.and_then(|place| place.ranks);
        Self { job: file_name::job_here(), rank: place.map(|place| place.rank), ranks }
    }
}

pub(super) fn write(folder: &Path, run: &Run) -> Result<()> {
    let file = RunFile {
        info: run.info.clone(),
        sources: run.sources.to_string(),
        start_ns: run.start_ns,
        pid: run.pid,
        naming: run.naming,
        place: JobPlace::here(),
        boot: run.boot.clone(),
    };
    // In one step: somebody may be reading it.
    let (path, unfinished) = (folder.join(RUN_FILE), folder.join(RUN_FILE_UNFINISHED));
    let bytes = serde_json::to_vec_pretty(&file)?;
    fs::write(&unfinished, bytes)
        .and_then(|()| fs::rename(&unfinished, &path))
        .with_context(|| format!("{}: cannot be written", path.display()))
}

fn run_file(folder: &Path) -> Result<RunFile> {
    Ok(serde_json::from_slice(&foreign_file::read(folder, RUN_FILE, MOST_BYTES)?)?)
}

/// The same, with the sources that it names.
fn run_file_and_sources(folder: &Path) -> Result<(RunFile, SampleSources)> {
    let file = run_file(folder)?;
    let sources = SampleSources::parse(&file.sources).context("it names unknown sources")?;
    Ok((file, sources))
}

/// Where in a job the run was.
pub(super) fn place(folder: &Path) -> JobPlace {
    run_file(folder).map(|file| file.place).unwrap_or_default()
}

/// What the file says; where it cannot be read, what the first process says about itself, and a
/// warning.
pub(super) fn read(folder: &Path, arenas: &[Arena]) -> Run {
    let phases = RunPhases::read(folder);
    let unread = match run_file_and_sources(folder) {
        Ok((RunFile { info, start_ns, pid, naming, boot, .. }, sources)) => {
            return Run { info, sources, start_ns, pid, naming, phases, boot };
        }
        Err(unread) => unread,
    };
    let mut run = Run {
        info: RunInfo::default(),
        sources: SampleSources::DEFAULT,
        start_ns: 0,
        pid: None,
        naming: Naming::default(),
        phases,
        boot: String::new(),
    };
    run.info.warnings.push(format!(
        "what was run is not known: {RUN_FILE} of the run folder cannot be read: {unread}"
    ));
    if let Some(first) = arenas.iter().min_by_key(|arena| arena.header.start_ns) {
        run.info.start_unix_ns = first.header.start_unix_ns;
        run.start_ns = first.header.start_ns;
        run.sources = metrics::sources_of(&first.header).unwrap_or(run.sources);
    }
    run
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Who has it open reads what was written first, and not the half of something else.
    #[test]
    fn it_is_replaced_in_one_step() {
        let folder = tempfile::tempdir().unwrap();
        let mut run = read(folder.path(), &[]);
        run.info.command = vec![b"xz".to_vec()];
        write(folder.path(), &run).unwrap();
        let first = fs::File::open(folder.path().join(RUN_FILE)).unwrap();
        run.info.command.clear();
        write(folder.path(), &run).unwrap();
        let first: RunFile = serde_json::from_reader(first).unwrap();
        assert_eq!(first.info.command, [b"xz"]);
        assert_eq!(read(folder.path(), &[]).info.command.len(), 0);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn without_it_slices_are_found_and_a_warning_says_what_is_missing() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("slices"), "1000000000\n1 7\n").unwrap();
        let told = |text: Option<&str>| {
            if let Some(text) = text {
                fs::write(folder.path().join(RUN_FILE), text).unwrap();
            }
            let run = read(folder.path(), &[]);
            assert_eq!(run.phases.named(1).len(), 1);
            let [told] = &run.info.warnings[..] else { panic!("{:?}", run.info.warnings) };
            told.strip_prefix(
                "what was run is not known: run.json of the run folder cannot be read: ",
            )
            .unwrap_or_else(|| panic!("{told}"))
            .to_owned()
        };
        assert_eq!(told(None), "No such file or directory (os error 2)");
        assert!(told(Some("{")).starts_with("EOF while parsing"));
        // Of another version: it says where in a job the run was.
        let place = JobPlace { job: Some("4711".to_owned()), ..JobPlace::default() };
        let file = RunFile {
            info: RunInfo::default(),
            sources: "unheard-of:1".to_owned(),
            start_ns: 7,
            pid: None,
            naming: Naming::default(),
            place: place.clone(),
            boot: String::new(),
        };
        assert_eq!(told(Some(&serde_json::to_string(&file).unwrap())), "it names unknown sources");
        assert_eq!(super::place(folder.path()), place);
    }

    #[test]
    fn what_an_earlier_version_wrote_is_read() {
        let file = RunFile {
            info: RunInfo { command: vec![b"xz".to_vec()], ..RunInfo::default() },
            sources: "realtime@100".to_owned(),
            start_ns: 7,
            pid: Some(8),
            naming: Naming { python: true, ..Naming::default() },
            place: JobPlace::default(),
            boot: String::new(),
        };
        let mut written = serde_json::to_value(&file).unwrap();
        for added_later in ["naming", "place"] {
            assert!(written.as_object_mut().unwrap().remove(added_later).is_some());
        }
        let read: RunFile = serde_json::from_value(written).unwrap();
        assert_eq!((read.info, read.sources), (file.info, file.sources));
        assert_eq!((read.start_ns, read.pid, read.naming), (7, Some(8), Naming::default()));
    }
}
