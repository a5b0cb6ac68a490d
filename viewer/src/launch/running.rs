//! Runs that go on: which there are, which one is meant, and what it has sampled so far.
//!
//! A run goes on while the csprof that will save it lives, or a process of it does. Its arenas may
//! be read at any moment, without a word to its processes.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::fmt;
use std::fs::{self, File};
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use csprof_format::arena::LEFT_NO_SAMPLES;
use csprof_format::launch::{RUN_DIR, SampleSources};
use csprof_format::profile::{Exit, GOES_ON, Profile};
use nix::unistd::Uid;

use super::alive::mapping_processes;
use super::arena_read::Arena;
use super::control::{self, Control};
use super::gather::Run;
use super::own_folders;
use super::process::{self, runs_csprof};
use super::run_dir::{self, ReadArenas, RunDir};
use super::{count, gather_files, machine, metrics, run_file};

/// A run that goes on.
#[derive(Clone, Debug)]
pub struct Running {
    /// Its run folder.
    pub folder: PathBuf,
    /// Program and arguments.
    pub command: Vec<Vec<u8>>,
    /// What triggers its samples: of a source that the kernel refused, what is sampled instead.
    pub sources: SampleSources,
    /// The `csprof record` that will save its profile, if there is one.
    pub recorder: Option<u32>,
    /// Where that will save it.
    pub output: Option<PathBuf>,
    /// Its processes that are sampled, by their ids, ascending. None right at its start.
    pub processes: Vec<u32>,
}

/// What a run has sampled up to a moment.
#[derive(Debug)]
pub struct Snapshot {
    /// The profile, without symbols.
    pub profile: Profile,
    /// Copies of modules that processes have left, by their names.
    pub copies: HashMap<String, File>,
    /// For how long the run had gone on and was not paused, in nanoseconds.
    pub sampled_ns: u64,
    /// Files of the run folder that could not be read.
    pub unread: usize,
}

impl Snapshot {
    /// What these arenas of a run have.
    pub(super) fn of(run: &Run, arenas: Vec<Arena>, run_dir: &RunDir) -> Self {
        let profile = gather_files(run, arenas, run_dir);
        let copies = run_dir.copies(&profile);
        let duration_ns = run.info.duration_ns;
        let paused_ns = control::paused_ns(run_dir, run.start_ns.saturating_add(duration_ns));
        Self { profile, copies, sampled_ns: duration_ns.saturating_sub(paused_ns), unread: 0 }
    }
}

/// The runs of this user that go on, in the order of their folders' names.
#[must_use]
pub fn all() -> Vec<Running> {
    own_folders::all().iter().filter_map(|folder| Running::at(folder)).collect()
}

/// The run of this name: its run folder, the process id of the `csprof record`, or that of any of
/// its processes. Without a name, the only one that goes on.
///
/// # Errors
///
/// One sentence that says why there is none: it has ended, it is somebody else's, no such process,
/// or there are several.
pub fn find(name: Option<&str>) -> Result<Running> {
    remove_what_is_left();
    let Some(name) = name else {
        let mut found = all();
        return match (found.pop(), found.is_empty()) {
            (Some(only), true) => Ok(only),
            (None, _) => bail!("no run of yours goes on; csprof record PROG begins one"),
            (Some(last), false) => {
                found.push(last);
                let list: Vec<String> = found.iter().map(ToString::to_string).collect();
                bail!("several runs go on; name one by its process: {}", list.join("; "))
            }
        };
    };
    let Ok(pid) = name.parse::<u32>() else { return of_folder(Path::new(name)) };
    let start = Instant::now();
    loop {
        match of_process(pid) {
            // A csprof that has just been started may be about to begin.
            Err(_) if runs_csprof(pid) && start.elapsed() < PATIENCE => thread::sleep(LOOK),
            found => return found,
        }
    }
}

/// How long a csprof may take to begin a run, and how often to look.
const PATIENCE: Duration = Duration::from_secs(2);
const LOOK: Duration = Duration::from_millis(20);

/// Removes the folders of this user's programs that were prepared and have ended, if all that they
/// had was saved, and they are an hour old: a program in a container may be about to begin.
pub fn remove_what_is_left() {
    for folder in own_folders::all() {
        if run_dir::is_old(&folder)
            && let Ok(mut run_dir) = RunDir::open(&folder)
            && Control::open(&run_dir)
                .and_then(|control| control.state())
                .is_ok_and(|state| state.is_prepared && state.saved == state.begun)
            && !run_dir.is_in_use()
        {
            run_dir.remove();
        }
    }
}

fn of_folder(path: &Path) -> Result<Running> {
    let shown = path.display();
    let Ok(metadata) = path.symlink_metadata() else {
        bail!("{shown}: there is no such run folder; the run has ended, or is of another machine")
    };
    if !may_control(metadata.uid()) {
        bail!("{shown}: the run is another user's");
    }
    let folder = fs::canonicalize(path)?;
    let run_dir = RunDir::open(&folder)?;
    Running::at(&folder).map_or_else(
        || match run_dir.is_empty() {
            true => bail!("{shown}: the run has ended"),
            false => bail!("{shown}: the run has ended; csprof salvage {shown} -o FILE saves it"),
        },
        Ok,
    )
}

fn of_process(pid: u32) -> Result<Running> {
    let proc = PathBuf::from(format!("/proc/{pid}"));
    if !proc.exists() {
        bail!("there is no process {pid}");
    }
    let is_it = |run: &Running| run.recorder == Some(pid) || run.processes.contains(&pid);
    let mut runs = all();
    if let Some(found) = runs.iter().position(is_it) {
        return Ok(runs.swap_remove(found));
    }
    // Of another user, whose run root may ask for; or one that has just been started.
    let environment = match fs::read(proc.join("environ")) {
        Ok(environment) => environment,
        Err(error) if error.kind() == ErrorKind::PermissionDenied => {
            if process::user(pid).is_some_and(may_control) {
                bail!(
                    "process {pid} lets nobody look at it (prctl(2), PR_SET_DUMPABLE), and no run of \
                     yours has it"
                );
            }
            bail!("process {pid} is another user's")
        }
        Err(_) => bail!("process {pid} has ended"),
    };
    let arenas = environment
        .split(|&byte| byte == 0)
        .find_map(|variable| variable.strip_prefix(RUN_DIR.as_bytes())?.strip_prefix(b"="));
    let Some(folder) = arenas.and_then(|path| Path::new(OsStr::from_bytes(path)).parent()) else {
        if !process::user(pid).is_some_and(may_control) {
            bail!("process {pid} is another user's");
        }
        bail!(
            "process {pid} was not started by csprof record or csprof prepare, so it cannot be \
             controlled; if csprof record -p samples it, a SIGINT to that csprof ends the recording \
             and saves its profile"
        )
    };
    of_folder(folder)
}

/// Whether the run of this user may be looked at and changed.
fn may_control(owner: u32) -> bool {
    let own = Uid::effective();
    own.is_root() || own.as_raw() == owner
}

impl Running {
    /// The run in this folder, if it goes on.
    fn at(folder: &Path) -> Option<Self> {
        let run_dir = RunDir::open(folder).ok()?;
        let run = run_file::read(folder, &[]);
        // A csprof that has seen the program's end is about to save.
        let is_over = run.info.exit != Exit::Unknown;
        let recorder = run_dir::owner_of(folder).filter(|&pid| !is_over && runs_csprof(pid));
        let processes = mapping_processes(&run_dir);
        // What was prepared is the process that has made the folder, which may be about to begin.
        let is_prepared = run
            .pid
            .is_some_and(|pid| Some(pid) == run_dir::owner_of(folder) && process::is_alive(pid));
        let used = run_dir.begun_arenas().find_map(|(header, _)| metrics::sources_of(&header));
        (recorder.is_some() || is_prepared || !processes.is_empty()).then(|| Self {
            folder: folder.to_path_buf(),
            command: run.info.command,
            sources: used.unwrap_or(run.sources),
            output: recorder.and_then(|_| run_dir.output()),
            recorder,
            processes,
        })
    }

    /// Whether it goes on.
    #[must_use]
    pub fn goes_on(&self) -> bool {
        Self::at(&self.folder).is_some()
    }

    /// What it is told while it goes on.
    ///
    /// # Errors
    ///
    /// When the run has ended, or cannot be controlled.
    pub fn control(&self) -> Result<Control> {
        let Ok(run_dir) = RunDir::open(&self.folder) else {
            bail!("{}: the run has ended", self.folder.display())
        };
        Control::open(&run_dir)
    }

    /// Removes its folder if all its processes have ended, and no csprof is to save it. If so many
    /// files of it could not be read it stays, and this returns what is to be said.
    pub fn remove_if_left(&self, unread: usize) -> Option<String> {
        let mut run_dir = RunDir::open(&self.folder).ok().filter(|run_dir| !run_dir.is_in_use())?;
        run_dir.remove_saved(unread)
    }

    /// What it has sampled up to here. Its processes notice nothing.
    ///
    /// # Errors
    ///
    /// When the run has ended and its folder is gone.
    pub fn read(&self) -> Result<Snapshot> {
        let Ok(run_dir) = RunDir::open(&self.folder) else {
            bail!("{}: the run has ended", self.folder.display())
        };
        let life = Life::of(&run_dir);
        let ReadArenas { arenas, warnings, unread, .. } = run_dir.read_arenas();
        let run = self.run_of(&run_dir, life, &arenas, warnings);
        Ok(Snapshot { unread, ..Snapshot::of(&run, arenas, &run_dir) })
    }

    fn run_of(&self, run_dir: &RunDir, life: Life, arenas: &[Arena], warnings: Vec<String>) -> Run {
        let mut run = run_file::read(&self.folder, arenas);
        let Life { processes: running, is_recorded, now_ns } = life;
        if running > 0 || is_recorded && run.info.exit == Exit::Unknown {
            // A process that is just beginning has left nothing yet.
            let is_known = |warning: &String| !warning.contains(LEFT_NO_SAMPLES);
            run.info.warnings.extend(warnings.into_iter().filter(is_known));
            let goes_on = count(running, "process of it is running", "processes of it are running");
            run.info.warnings.push(format!("{GOES_ON} ({goes_on}): its state at a moment"));
        } else {
            run.info.warnings.extend(warnings);
        }
        if run.info.duration_ns == 0 {
            run.info.duration_ns = now_ns.saturating_sub(run.start_ns);
        }
        run.info.warnings.extend(control::told(run_dir, run.start_ns, run.info.duration_ns));
        run
    }
}

/// Who of a run lives. To be asked before its arenas are read: what ends meanwhile has been read in
/// part.
#[derive(Clone, Copy, Debug)]
pub(super) struct Life {
    /// How many of its processes.
    pub processes: usize,
    /// Whether the csprof that has made its folder.
    pub is_recorded: bool,
    /// When that was asked, by the monotonic clock.
    pub now_ns: u64,
}

impl Life {
    pub(super) fn of(run_dir: &RunDir) -> Self {
        Self {
            processes: mapping_processes(run_dir).len(),
            is_recorded: run_dir::owner_of(run_dir.path()).is_some_and(runs_csprof),
            now_ns: machine::monotonic_ns(),
        }
    }
}

/// What tells it from others: processes, program.
impl fmt::Display for Running {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let pid = self.recorder.or_else(|| self.processes.first().copied());
        let words = self.command.iter().map(|word| String::from_utf8_lossy(word));
        let command = words.collect::<Vec<_>>().join(" ");
        match pid {
            Some(pid) => write!(f, "{pid} ({command})"),
            None => write!(f, "{} ({command})", self.folder.display()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::arena_bytes::{ArenaBytes, lock_mapped};
    use super::*;
    use crate::surroundings::{comes_true, is_given_away};

    #[test]
    fn what_ends_while_it_is_read_is_a_part() {
        // Not where other tests of this process look for runs of its.
        let place = tempfile::tempdir().unwrap();
        let run_dir = RunDir::create_at(&fs::canonicalize(place.path()).unwrap()).unwrap();
        let pid = std::process::id();
        let arena = run_dir.arenas().join(format!("{pid}-1.arena"));
        fs::write(&arena, ArenaBytes::new(pid, 1, 0).locked().bytes).unwrap();
        let mapped = lock_mapped(&arena);
        // As if the kernel had refused what was asked for.
        let mut run = run_file::read(run_dir.path(), &[]);
        run.sources = SampleSources::parse("task-clock:5000000").unwrap();
        run_file::write(run_dir.path(), &run).unwrap();
        let running = Running::at(run_dir.path()).unwrap();
        assert_eq!(running.sources.iter().next().unwrap().name(), "cputime");
        let life = Life::of(&run_dir);
        drop(mapped);
        let ReadArenas { arenas, warnings, .. } = run_dir.read_arenas();
        let run = running.run_of(&run_dir, life, &arenas, warnings);
        let is_told = |run: &Run| run.info.warnings.iter().any(|told| told.starts_with(GOES_ON));
        assert!(is_told(&run), "{:?}", run.info.warnings);
        assert!(!is_told(&running.run_of(&run_dir, Life::of(&run_dir), &arenas, Vec::new())));
    }

    /// Who has started a prepared program may wait for it late, or never.
    #[test]
    fn a_prepared_program_that_nobody_has_waited_for_has_ended() {
        let mut program = std::process::Command::new("sleep").arg("1000").spawn().unwrap();
        let place = tempfile::tempdir().unwrap();
        let folder = place.path().join(format!("csprof-{}-aaaaaa", program.id()));
        fs::create_dir_all(folder.join("arenas")).unwrap();
        let mut run = run_file::read(&folder, &[]);
        run.pid = Some(program.id());
        run_file::write(&folder, &run).unwrap();
        assert!(Running::at(&folder).is_some());
        program.kill().unwrap();
        assert!(comes_true(|| !process::is_alive(program.id())));
        assert!(Running::at(&folder).is_none());
        program.wait().unwrap();
    }

    #[test]
    fn what_is_no_running_run_is_told_apart() {
        let told = |name: &str| find(Some(name)).unwrap_err().to_string();
        // Process ids end at 2^22 (proc_sys_kernel(5), pid_max).
        assert_eq!(told("4194305"), "there is no process 4194305");
        let own = told(&std::process::id().to_string());
        assert!(own.contains("so it cannot be controlled; if csprof record -p"), "{own}");
        assert!(told("/dev/shm/csprof-1-gone").contains("there is no such run folder"));

        let run_dir = RunDir::create().unwrap();
        let path = run_dir.path().to_str().unwrap();
        assert_eq!(told(path), format!("{path}: the run has ended"));
        fs::write(run_dir.arenas().join("1-1.arena"), "sampled").unwrap();
        assert!(told(path).ends_with(&format!("csprof salvage {path} -o FILE saves it")));
        if is_given_away(run_dir.path(), 65534) {
            // Root may look at it; who is no root is told.
            assert!(told(path).contains("the run has ended"));
            assert!(!own_folders::all().contains(&run_dir.path().to_path_buf()));
        }
    }
}
