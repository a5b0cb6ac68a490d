//! Which processes of a run go on: asked of the kernel, never of them.

use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use csprof_format::arena::{ArenaHeader, FLAG_EXECED};

use super::run_dir::{self, RunDir};
use super::{machine, process};

/// Processes of the run that have not ended. Those that have an arena mapped; and those that were
/// started with the run's folder in their environment: they may just be about to make theirs. None
/// is older than `eldest`.
pub(super) fn running_processes(run_dir: &RunDir, eldest: &Eldest) -> Vec<u32> {
    let mut running = mapping_processes(run_dir);
    for _ in 0..LOOKS {
        if !running.is_empty() {
            break;
        }
        let looked = just_started(run_dir.arenas(), eldest);
        running = looked.found;
        if !looked.some_are_gone {
            break;
        }
        thread::sleep(Duration::from_millis(1));
    }
    running.sort_unstable();
    running
}

/// Which processes can be of a run.
pub(super) struct Eldest {
    /// Those of the run that end before all others have greater ids than this, as long as ids are
    /// not used again.
    id: u32,
    /// When a process was started that is older than all of the run.
    started: Option<u64>,
}

impl Eldest {
    /// Of a run whose program, or whose csprof, has this id, and which the calling process began,
    /// or saw begin.
    pub(super) fn since_own_start(id: u32) -> Self {
        Self { id, started: process::own_start() }
    }

    /// Of any run.
    pub(super) const fn unknown(id: u32) -> Self {
        Self { id, started: None }
    }

    /// Whether a process is older.
    fn excludes(&self, pid: u32) -> io::Result<bool> {
        let started = process::started(pid)?;
        Ok(self.started.zip(started).is_some_and(|(eldest, started)| started < eldest))
    }
}

/// Processes of the run that have an arena mapped and have not ended, ascending.
pub(super) fn mapping_processes(run_dir: &RunDir) -> Vec<u32> {
    let alive = run_dir
        .begun_arenas()
        .filter(|(header, _)| header.end_ns == 0 && header.flags & FLAG_EXECED == 0)
        .filter(|(header, file)| maps_arena(run_dir, header, file));
    let mut found: Vec<u32> = alive.map(|(header, _)| header.pid).collect();
    found.sort_unstable();
    found.dedup();
    found
}

/// Whether the process of an arena has it mapped. Its id alone does not say that it is the same
/// process: ids are used again, and a container has ids of its own.
fn maps_arena(run_dir: &RunDir, header: &ArenaHeader, file: &File) -> bool {
    match fs::read(format!("/proc/{}/maps", header.pid)) {
        Ok(maps) => run_dir.all_arenas().any(|folder| holds(&maps, folder)),
        // A process that is not dumpable lets nobody see its maps; its lock is seen.
        Err(error) if error.kind() == ErrorKind::PermissionDenied => run_dir::is_used(header, file),
        Err(_) => false,
    }
}

/// Whether a process has an arena mapped that lies in one of these folders.
pub(super) fn maps_arena_in(pid: u32, folders: &[PathBuf]) -> bool {
    let maps = fs::read(format!("/proc/{pid}/maps"));
    maps.is_ok_and(|maps| folders.iter().any(|folder| holds(&maps, folder)))
}

/// How long a process that has ended is still known by its id.
const JUST_NOW: Duration = Duration::from_secs(2);

/// Whether a process of this id has left an arena in a folder, and has ended just now, or as nobody
/// could say when: others that had the id since may not be of the run. So the latter only if no id
/// `may_repeat`.
pub(super) fn has_just_ended(pid: u32, folder: &Path, may_repeat: impl Fn() -> bool) -> bool {
    let begin = format!("{pid}-");
    let names = fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok);
    let paths = names.map(|entry| entry.path()).filter(|path| {
        path.file_name().is_some_and(|name| name.as_bytes().starts_with(begin.as_bytes()))
    });
    let since = machine::monotonic_ns().saturating_sub(JUST_NOW.as_nanos() as u64);
    let mut headers = paths.filter_map(|path| run_dir::header_of(&path));
    headers.any(|of| if of.end_ns == 0 { !may_repeat() } else { of.end_ns > since })
}

/// How often to look again where processes end while one looks: each may have forked after the list
/// was read.
const LOOKS: usize = 8;

/// What one look at all processes gives.
struct Looked {
    /// Those that have the folder in their environment.
    found: Vec<u32>,
    /// Whether some ended meanwhile whose ids are greater than the program's. A zombie looks as if
    /// it had just ended: old ones, whose ids are smaller, would have us look again each time. As
    /// ids are used again from small ones on (`pid_max`, proc_sys_kernel(5)), one that has forked
    /// and ended meanwhile may be missed.
    some_are_gone: bool,
}

fn just_started(folder: &Path, eldest: &Eldest) -> Looked {
    let entries = fs::read_dir("/proc").into_iter().flatten().filter_map(Result::ok);
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let mut looked = Looked { found: Vec::new(), some_are_gone: false };
    for pid in pids {
        // The environment is memory of the process, which may have to be fetched, or be locked.
        let environment = match eldest.excludes(pid) {
            Ok(true) => continue,
            Ok(false) => fs::read(format!("/proc/{pid}/environ")),
            Err(error) => Err(error),
        };
        match environment {
            Ok(text) if holds(&text, folder) => looked.found.push(pid),
            // One that ends has no memory any more; threads of the kernel never have.
            Ok(text) if pid > eldest.id => {
                looked.some_are_gone |= text.is_empty() && !process::is_of_kernel(pid);
            }
            Err(error) if pid > eldest.id => {
                looked.some_are_gone |= error.kind() != ErrorKind::PermissionDenied;
            }
            Ok(_) | Err(_) => {}
        }
    }
    looked
}

fn holds(text: &[u8], folder: &Path) -> bool {
    let folder = folder.as_os_str().as_bytes();
    text.windows(folder.len()).any(|part| part == folder)
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::super::arena_bytes::ArenaBytes;
    use super::*;
    use crate::surroundings::comes_true;

    /// Ids are used again: who was killed long ago is not for ever the sender of what others send.
    #[test]
    fn who_has_ended_nobody_knows_when_is_known_by_an_id_that_is_given_out_once() {
        let folder = tempfile::tempdir().unwrap();
        let pid = 4_194_305;
        let write = |end_ns| {
            let arena = ArenaBytes::new(pid, 1, end_ns);
            fs::write(folder.path().join(format!("{pid}-1.arena")), arena.bytes).unwrap();
        };
        let has_just_ended = |may_repeat| has_just_ended(pid, folder.path(), || may_repeat);
        assert!(!has_just_ended(false), "it has left none");
        write(0);
        assert!(has_just_ended(false) && !has_just_ended(true));
        write(machine::monotonic_ns());
        assert!(has_just_ended(false) && has_just_ended(true));
        write(1);
        assert!(!has_just_ended(false) && !has_just_ended(true));
    }

    /// Of a process that was there before the run, nothing is read.
    #[test]
    fn who_is_older_than_the_run_is_not_of_it() {
        let folder = tempfile::tempdir().unwrap();
        let mut sleep = Command::new("sleep");
        let mut child = sleep.arg("1000").env("CSPROF_RUN_DIR", folder.path()).spawn().unwrap();
        let found = |eldest: &Eldest| just_started(folder.path(), eldest).found;
        // Until execve(2) is through, its environment is the parent's.
        assert!(comes_true(|| found(&Eldest::unknown(0)) == [child.id()]));
        assert_eq!(found(&Eldest::since_own_start(0)), [child.id()]);
        let started = process::started(child.id()).unwrap().map(|ticks| ticks + 1);
        assert!(found(&Eldest { id: 0, started }).is_empty());
        child.kill().unwrap();
        child.wait().unwrap();
    }
}
