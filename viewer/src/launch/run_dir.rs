//! The run folder: where the processes of a run keep their arenas while they live.
//!
//! It should be memory (`/dev/shm`), so that sampling never waits for a disk, and it must be
//! private. Processes of a run by root may drop their privileges and fork afterwards, and their
//! children still need to create arenas; so for root the arenas lie one level down, in a folder
//! that everybody may write to but nobody else may list, with a name that cannot be guessed.
//!
//! ```text
//! /dev/shm/csprof-4711-x3fQ9a/          0700, as root 0711
//!     run.json                          what `csprof salvage` needs to know
//!     arenas-9f0c…/                     0700, as root 01733: CSPROF_RUN_DIR
//!         4712-1763652000.arena
//! ```

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::thread;

use anyhow::{Context, Result, anyhow};
use csprof_format::arena::{ARENA_SUFFIX, ArenaHeader};
use nix::fcntl::OFlag;
use nix::sys::statfs::{TMPFS_MAGIC, statfs};
use nix::sys::statvfs::statvfs;
use nix::unistd::{Uid, mkdtemp};

use super::arena_read::{self, Arena, NoArena};
use crate::print;

/// Free space that `/dev/shm` must have to be chosen, in bytes. Containers often give 64 MiB in
/// all; an arena that cannot grow loses samples.
const MIN_FREE: u64 = 64 << 20;

/// What an arena without a first page says.
const EMPTY: &str = "the process left no samples: it ended at once, or shared memory was refused (a \
                     full /dev/shm, or a limit)";

/// What the folder with the arenas is called; for root, random digits follow.
const ARENAS: &str = "arenas";

/// A run folder. It is removed with everything in it when dropped, unless it was [kept](Self::keep),
/// or something was sampled and csprof panics.
#[derive(Debug)]
pub struct RunDir {
    path: PathBuf,
    arenas: PathBuf,
    keep: bool,
}

impl RunDir {
    /// Makes a fresh run folder at the best place there is.
    ///
    /// # Errors
    ///
    /// When no place is writable.
    pub fn create() -> Result<Self> {
        let is_root = Uid::effective().is_root();
        let mut refusals = Vec::new();
        for place in places(is_root) {
            match Self::create_in(&place, is_root) {
                Ok(run_dir) => return Ok(run_dir),
                Err(error) => refusals.push(format!("{}: {error}", place.display())),
            }
        }
        Err(anyhow!("no folder for the data of the running program ({})", refusals.join("; ")))
    }

    fn create_in(place: &Path, is_root: bool) -> io::Result<Self> {
        let template = place.join(format!("csprof-{}-XXXXXX", std::process::id()));
        let path = mkdtemp(&template)?;
        let arenas = path.join(if is_root {
            let mut random = [0; 16];
            File::open("/dev/urandom")?.read_exact(&mut random)?;
            random.iter().fold(format!("{ARENAS}-"), |name, byte| format!("{name}{byte:02x}"))
        } else {
            ARENAS.into()
        });
        let run_dir = Self { path, arenas, keep: false };
        fs::create_dir(&run_dir.arenas)?;
        let (outer, inner) = if is_root { (0o711, 0o1733) } else { (0o700, 0o700) };
        fs::set_permissions(&run_dir.path, Permissions::from_mode(outer))?;
        fs::set_permissions(&run_dir.arenas, Permissions::from_mode(inner))?;
        Ok(run_dir)
    }

    /// The run folder that an interrupted `csprof record` left at `path`. It is kept.
    ///
    /// # Errors
    ///
    /// When there is no such folder, or it is no run folder.
    pub fn open(path: &Path) -> Result<Self> {
        let entries =
            fs::read_dir(path).with_context(|| format!("{}: cannot be read", path.display()))?;
        let arenas = entries
            .filter_map(Result::ok)
            .find(|entry| entry.file_name().to_string_lossy().starts_with(ARENAS))
            .with_context(|| {
                format!("{}: is no run folder of csprof: it has no arenas in it", path.display())
            })?;
        Ok(Self { path: path.to_path_buf(), arenas: arenas.path(), keep: true })
    }

    /// The folder itself.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The folder in which processes create their arenas.
    #[must_use]
    pub fn arenas(&self) -> &Path {
        &self.arenas
    }

    /// Leaves the folder in place, for `csprof salvage`.
    pub fn keep(&mut self) {
        self.keep = true;
    }

    /// Removes the folder now.
    pub fn remove(mut self) {
        self.keep = false;
    }

    /// Reads all arenas. Files that are none, or cannot be read, give a warning each.
    #[must_use]
    pub fn read_arenas(&self) -> (Vec<Arena>, Vec<String>) {
        let (paths, mut warnings) = self.arena_paths();
        let mut arenas = Vec::new();
        for path in paths {
            let arena = open_arena(&path)
                .and_then(|(mut file, backed)| arena_read::read(&mut file, backed));
            let name = path.file_name().unwrap_or_default().display();
            match arena {
                Ok(arena) => arenas.push(arena),
                Err(NoArena::Empty) => warnings.push(format!("{name}: {EMPTY}")),
                Err(NoArena::Foreign(why)) => warnings.push(format!("{name}: is no arena: {why}")),
                Err(NoArena::Io(error)) => {
                    warnings.push(format!("{name}: cannot be read: {error}"))
                }
            }
        }
        (arenas, warnings)
    }

    /// Reads the headers of all arenas that have one.
    #[must_use]
    pub fn read_headers(&self) -> Vec<ArenaHeader> {
        let (paths, _) = self.arena_paths();
        let header = |path: &PathBuf| {
            let (mut file, _) = open_arena(path).ok()?;
            arena_read::read_header(&mut file).ok()
        };
        paths.iter().filter_map(header).collect()
    }

    fn arena_paths(&self) -> (Vec<PathBuf>, Vec<String>) {
        match fs::read_dir(&self.arenas) {
            Ok(entries) => {
                let paths = entries.filter_map(Result::ok).map(|entry| entry.path());
                let is_arena =
                    |path: &PathBuf| path.as_os_str().as_bytes().ends_with(ARENA_SUFFIX.as_bytes());
                (paths.filter(is_arena).collect(), Vec::new())
            }
            Err(error) => {
                let warning = format!("{}: cannot be read: {error}", self.arenas.display());
                (Vec::new(), vec![warning])
            }
        }
    }
}

impl Drop for RunDir {
    fn drop(&mut self) {
        let has_arenas = !self.arena_paths().0.is_empty();
        if thread::panicking() && has_arenas {
            // An error in csprof is no reason to lose an hour of somebody's program.
            let kept = kept_text(&self.path);
            let _ = print::message(kept);
        } else if !self.keep {
            // A program that still runs may add a file at this moment; what is left over is small.
            let _ = fs::remove_dir_all(&self.path);
        }
    }
}

/// Says that a run folder was left, and what to do with it.
#[must_use]
pub fn kept_text(run_dir: &Path) -> String {
    format!("what was sampled is kept: csprof salvage {} -o FILE", run_dir.display())
}

/// Opens a file that the profiled program's user made, without following links or waiting for the
/// other end of a pipe. Returns it with the number of bytes that have storage behind them.
fn open_arena(path: &Path) -> Result<(File, u64), NoArena> {
    let file = OpenOptions::new()
        .read(true)
        .custom_flags((OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK).bits())
        .open(path)?;
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Err(NoArena::Foreign("it is not a regular file".into()));
    }
    // st_blocks counts 512 bytes each, whatever the block size of the file system is (stat(2)).
    Ok((file, metadata.blocks().saturating_mul(512)))
}

/// This user's run folders with arenas whose csprof has ended: it was killed, or could not save the
/// profile. One whose process id is in use again is not found.
#[must_use]
pub fn left_over() -> Vec<PathBuf> {
    let mut places = vec![PathBuf::from("/dev/shm"), "/tmp".into(), "/var/tmp".into()];
    places.extend(std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from));
    places.push(std::env::temp_dir());
    places.sort();
    places.dedup();
    places.iter().flat_map(|place| left_over_in(place)).collect()
}

fn left_over_in(place: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(place) else { return Vec::new() };
    let is_left_over = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let pid = name.strip_prefix("csprof-").and_then(|rest| rest.split_once('-'));
        let Some(pid) = pid.and_then(|(pid, _)| pid.parse::<u32>().ok()) else { return false };
        let runs = Path::new("/proc").join(pid.to_string()).exists();
        // What others have put into /tmp is not even looked at.
        let own = path.symlink_metadata().is_ok_and(|m| m.uid() == Uid::effective().as_raw());
        own && !runs && RunDir::open(path).is_ok_and(|run_dir| !run_dir.arena_paths().0.is_empty())
    };
    let mut found: Vec<PathBuf> =
        entries.filter_map(Result::ok).map(|entry| entry.path()).filter(is_left_over).collect();
    found.sort();
    found
}

/// Folders to try, best first.
fn places(is_root: bool) -> Vec<PathBuf> {
    let mut places = Vec::new();
    let shm = Path::new("/dev/shm");
    let is_memory = statfs(shm).is_ok_and(|stat| stat.filesystem_type() == TMPFS_MAGIC);
    let free = statvfs(shm).map_or(0, |stat| stat.blocks_available() * stat.fragment_size());
    if is_memory && free >= MIN_FREE {
        places.push(shm.to_path_buf());
    }
    // root's own folders are closed to processes that drop their privileges.
    if !is_root {
        places.extend(std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from));
    }
    places.push(std::env::temp_dir());
    places.push(PathBuf::from("/tmp"));
    places.push(PathBuf::from("/var/tmp"));
    places.retain(|place| place.is_absolute());
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_folder_lives_until_it_is_dropped_unless_it_is_kept() {
        let mut kept = RunDir::create().unwrap();
        let dropped = RunDir::create().unwrap();
        let paths = (kept.path().to_path_buf(), dropped.path().to_path_buf());
        assert!(kept.arenas().is_dir() && dropped.arenas().is_dir());
        kept.keep();
        drop((kept, dropped));
        assert!(paths.0.is_dir() && !paths.1.exists());

        let found = RunDir::open(&paths.0).unwrap();
        assert!(found.arenas().starts_with(&paths.0));
        found.remove();
        assert!(!paths.0.exists());
    }

    #[test]
    fn a_panic_leaves_what_was_sampled() {
        let folder_after = |file: &str| {
            let run_dir = RunDir::create().unwrap();
            let (path, arena) = (run_dir.path().to_path_buf(), run_dir.arenas().join(file));
            fs::write(arena, "sampled").unwrap();
            let panicked = std::panic::catch_unwind(move || {
                let _dropped = run_dir;
                panic!("an error in csprof");
            });
            assert!(panicked.is_err());
            path
        };
        let (left, removed) = (folder_after("1-1.arena"), folder_after("unrelated"));
        assert!(left.is_dir() && !removed.exists());
        RunDir::open(&left).unwrap().remove();
    }

    #[test]
    fn nobody_else_can_look_into_a_run_folder() {
        let run_dir = RunDir::create().unwrap();
        let mode = |path: &Path| path.metadata().unwrap().mode() & 0o7777;
        let modes = (mode(run_dir.path()), mode(run_dir.arenas()));
        // Processes that root starts may drop their privileges and still need to write.
        let root = Uid::effective().is_root();
        assert_eq!(modes, if root { (0o711, 0o1733) } else { (0o700, 0o700) });
    }

    #[test]
    fn links_and_pipes_among_the_arenas_are_not_opened() {
        let run_dir = RunDir::create().unwrap();
        std::os::unix::fs::symlink("/etc/passwd", run_dir.arenas().join("1-1.arena")).unwrap();
        nix::unistd::mkfifo(&run_dir.arenas().join("2-2.arena"), nix::sys::stat::Mode::S_IRWXU)
            .unwrap();
        fs::write(run_dir.arenas().join("3-3.arena"), "").unwrap();
        fs::write(run_dir.arenas().join("unrelated"), "text").unwrap();
        let (arenas, mut warnings) = run_dir.read_arenas();
        warnings.sort();
        assert!(arenas.is_empty());
        assert_eq!(
            warnings,
            [
                "1-1.arena: cannot be read: Too many levels of symbolic links (os error 40)",
                "2-2.arena: is no arena: it is not a regular file",
                "3-3.arena: the process left no samples: it ended at once, or shared memory was \
                 refused (a full /dev/shm, or a limit)",
            ]
        );
    }

    #[test]
    fn run_folders_of_a_csprof_that_has_ended_are_found() {
        let place = tempfile::tempdir().unwrap();
        let make = |name: &str, file: &str| {
            let arenas = place.path().join(name).join("arenas");
            fs::create_dir_all(&arenas).unwrap();
            fs::write(arenas.join(file), "sampled").unwrap();
        };
        // Process ids end at 2^22 (proc_sys_kernel(5), pid_max).
        make("csprof-4194305-aaaaaa", "1-1.arena");
        make("csprof-4194305-bbbbbb", "nothing-sampled");
        make(&format!("csprof-{}-cccccc", std::process::id()), "1-1.arena");
        make("csprof-demo-dddddd", "1-1.arena");
        make("other-4194305-eeeeee", "1-1.arena");
        assert_eq!(left_over_in(place.path()), [place.path().join("csprof-4194305-aaaaaa")]);
    }

    #[test]
    fn another_folder_is_no_run_folder() {
        let folder = tempfile::tempdir().unwrap();
        let error = RunDir::open(folder.path()).unwrap_err().to_string();
        assert!(error.ends_with("is no run folder of csprof: it has no arenas in it"), "{error}");
    }
}
