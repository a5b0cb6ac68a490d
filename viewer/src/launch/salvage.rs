//! What a run left that no csprof has saved: run folders, and the profiles in them.

use std::path::{Path, PathBuf};

use anyhow::Result;
use csprof_format::profile::{Exit, RunInfo};

use super::alive::{Eldest, running_processes};
use super::arena_read::Arena;
use super::control::{self, Control};
use super::own_folders;
use super::run_dir::{self, ReadArenas, RunDir};
use super::run_file::JobPlace;
use super::running::{Life, Snapshot};
use super::{count, headers_of, metrics, ranks, run_file};

/// Gathers the run folder that an interrupted `csprof record` left, or a program that was
/// [prepared](super::prepare).
///
/// # Errors
///
/// When there is no such folder.
pub fn salvage(path: &Path) -> Result<Snapshot> {
    let path = &path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
    let run_dir = RunDir::open(path)?;
    let Life { processes: running, is_recorded, now_ns } = Life::of(&run_dir);
    let ReadArenas { arenas, warnings, unread, .. } = run_dir.read_arenas();
    let mut run = run_file::read(path, &arenas);
    run.info.warnings.extend(warnings);
    if running == 0 {
        let is_rank = run_file::place(path).has_peers();
        run.info.warnings.extend(ranks::missing(&headers_of(&arenas), is_rank));
    }
    if run.info.exit == Exit::Unknown {
        let goes_on = count(running, "process of it is running", "processes of it are running");
        let state = Control::open(&run_dir).and_then(|control| control.state());
        let is_prepared = state.is_ok_and(|state| state.is_prepared);
        run.info.warnings.push(match (running, is_recorded) {
            (0, _) if is_prepared => {
                "salvaged: the program that csprof prepare started has ended".into()
            }
            (_, _) if is_prepared => format!(
                "salvaged from a program that goes on ({goes_on}): what was sampled up to here"
            ),
            (0, true) => "salvaged while csprof record is about to save the profile itself".into(),
            (0, false) => "salvaged: csprof record ended before it had saved the profile".into(),
            (_, true) => format!(
                "salvaged from a run that goes on ({goes_on}): what was sampled up to here; csprof \
                 record will save all of it"
            ),
            (_, false) => format!(
                "salvaged from a run that goes on without csprof record ({goes_on}): what was \
                 sampled up to here"
            ),
        });
        let end_ns = match running {
            0 => arenas.iter().map(last_sign_of_life).max().unwrap_or(0),
            _ => now_ns,
        };
        run.info.duration_ns = end_ns.saturating_sub(run.start_ns);
    }
    run.info.warnings.extend(control::told(&run_dir, run.start_ns, run.info.duration_ns));
    Ok(Snapshot { unread, ..Snapshot::of(&run, arenas, &run_dir) })
}

/// What an interrupted `csprof record` has left on this machine, to be [salvaged](salvage).
#[derive(Debug)]
pub struct LeftRun {
    /// The run folder.
    pub path: PathBuf,
    /// What was run, where and when.
    pub info: RunInfo,
    /// The rank that csprof itself had, and the job that it was in.
    pub place: JobPlace,
}

/// What could be salvaged on this machine, in the order of ranks.
#[must_use]
pub fn salvageable() -> Vec<LeftRun> {
    let found = own_folders::left_over().into_iter();
    let mut left: Vec<LeftRun> = found
        .map(|path| {
            let place = run_file::place(&path);
            LeftRun { info: run_file::read(&path, &[]).info, place, path }
        })
        .collect();
    left.sort_by(|a, b| (&a.place, &a.path).cmp(&(&b.place, &b.path)));
    left
}

/// Whether the csprof that has made this folder is there to save the run itself.
#[must_use]
pub fn is_recorded(run_dir: &RunDir) -> bool {
    Life::of(run_dir).is_recorded
}

/// Whether all processes of the run in a folder that was [taken](RunDir::take) have ended, in
/// whatever container. To be asked before its arenas are read: what they write later is not in what
/// was read.
#[must_use]
pub fn has_ended(run_dir: &RunDir) -> bool {
    let csprof = run_dir::owner_of(run_dir.path()).unwrap_or(0);
    running_processes(run_dir, &Eldest::unknown(csprof)).is_empty() && run_dir.is_settled()
}

/// Latest time that an arena mentions. A thread that was killed says no end; but it used its CPU
/// time after it had begun.
pub(super) fn last_sign_of_life(arena: &Arena) -> u64 {
    let log = arena.log.iter().map(|(time_ns, _)| *time_ns);
    let threads = arena.threads.iter().map(|thread| {
        let record = &thread.record;
        let used = record.cpu_ns.saturating_sub(record.cpu_before_ns);
        // What waited used none; but each sample of a source of time stands for as much of it as
        // the source has for period, one after the other. The first one of a thread comes after a
        // part of a period, so of several threads each may have one too many.
        let further: u64 = record.further.iter().map(|share| share.delivered).sum();
        let samples = core::iter::once(record.delivered.saturating_sub(further))
            .chain(record.further.iter().map(|share| share.delivered));
        let sampled = samples.enumerate().filter_map(|(number, samples)| {
            let samples = samples.saturating_sub(record.earlier);
            metrics::asked_of(&arena.header, number)?.time_ns(samples)
        });
        let lived = sampled.max().unwrap_or(0).max(used).saturating_add(record.apart_ns);
        record.end_ns.max(record.start_ns.saturating_add(lived))
    });
    log.chain(threads).chain([arena.header.start_ns, arena.header.end_ns]).max().unwrap_or(0)
}
