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
//!     changes                           what it was told, and when
//!     output -> /home/ada/run.csprof    where its profile will be saved
//!     arenas-9f0c…/                     0700, as root 01733: CSPROF_RUN_DIR
//!         4712-1763652000.arena
//!         control                       what the run is told while it goes on
//!         shares                        what processes must leave to others; where they go then
//!     spill -> /tmp/csprof-spill-4711-Yb2kD1
//! /tmp/csprof-spill-4711-Yb2kD1/        the same on a disk
//!     home -> 26:/dev/shm/csprof-4711-x3fQ9a
//! ```
//!
//! Others need shared memory, too: a run takes half of what is free when it begins, and nothing of
//! a file system as small as Docker's 64 MB. What is beyond goes to a disk: new processes make
//! their arenas there, and arenas of processes that have ended are moved there while others run.

use std::collections::{HashMap, HashSet};
use std::ffi::OsString;
use std::fs::{self, File, Permissions, TryLockError};
use std::io::{self, Read, Seek};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt as _, PermissionsExt, fchown, symlink};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow};
use csprof_format::arena::{ARENA_SUFFIX, ArenaHeader, FLAG_LOCKED, LEFT_NO_SAMPLES};
use csprof_format::file_identity::{MOST_COPIED, copy_name};
use csprof_format::launch::SHARES;
use csprof_format::profile::Profile;
use nix::libc;
use nix::sys::statfs::{TMPFS_MAGIC, statfs};
use nix::sys::statvfs::statvfs;
use nix::unistd::{Uid, mkdtemp};

use super::arena_read::{self, Arena, NoArena};
use super::{foreign_file, process};
use crate::print;

/// What a run must find in `/dev/shm`, in bytes, for it to be chosen: an arena that cannot grow
/// loses samples.
const LEAST_SHARE: u64 = 64 << 20;

/// What run folders are called, and those on a disk; the id of the process that has made them
/// follows, and random letters.
pub(super) const NAME: &str = "csprof";
pub(super) const SPILL_NAME: &str = "csprof-spill";

/// What links to the folder on a disk.
pub(super) const SPILL: &str = "spill";

/// What links to the file in which the profile will be saved.
pub(super) const OUTPUT: &str = "output";

/// What says in a folder on a disk which run folder links to it: its device, a colon, and its path.
pub(super) const HOME: &str = "home";

/// What has `record`'s knowledge of the run in it, and the same while it is written.
pub(super) const RUN_FILE: &str = "run.json";
pub(super) const RUN_FILE_UNFINISHED: &str = "run.json.new";

/// In the run folder: a line for each change, `NANOSECONDS TEXT`, of the monotonic clock.
pub(super) const CHANGES: &str = "changes";

/// In the run folder: the length of the first slices in nanoseconds, then a line for each slice
/// that began, `NUMBER NANOSECONDS`, of the monotonic clock. Lines that say something else are
/// passed over.
pub(super) const SLICES: &str = "slices";

/// In the run folder: a line for each phase that `csprof control` began for the first time,
/// `NUMBER NANOSECONDS NAME`, of the monotonic clock. Lines that say something else are passed
/// over.
pub(super) const PHASES: &str = "phases";

/// What the folder with the arenas is called; for root, random digits follow.
pub(super) const ARENAS: &str = "arenas";

/// A run folder. It is removed with everything in it when dropped, unless it was
/// [kept](Self::keep), or something was sampled and csprof panics.
#[derive(Debug)]
pub struct RunDir {
    path: PathBuf,
    arenas: PathBuf,
    /// The same on a disk: folder and arenas.
    spill: Option<(PathBuf, PathBuf)>,
    /// Bytes of the arenas' file system that others are to have, and how much of it was free at
    /// first.
    leave: u64,
    free: u64,
    keep: bool,
    /// The folder itself and that on a disk, locked while the csprof lives that has made them.
    locks: Vec<File>,
    /// Whether this csprof has made it. Of others, names and owners must say that they are run
    /// folders of this user: to root, an environment may name any folder.
    is_made: bool,
}

/// What was read of a run folder.
#[derive(Debug)]
pub struct ReadArenas {
    /// Its arenas.
    pub arenas: Vec<Arena>,
    /// What is worth telling of the rest.
    pub warnings: Vec<String>,
    /// Files and folders that have something which could not be read, and may be later: with other
    /// rights, or by another version.
    pub unread: usize,
    /// Files that are no arenas, and never will be.
    pub foreign: usize,
}

/// How many bytes of the file system at `place` a run leaves to others, and how many are free now.
/// Half of these, and of memory a quarter of all.
fn shares(place: &Path) -> (u64, u64) {
    let Ok(stat) = statvfs(place) else { return (0, 0) };
    let (free, all) = (stat.blocks_available(), stat.blocks());
    let leave = if is_memory(place) { (free / 2).max(all / 4) } else { free / 2 };
    (leave.saturating_mul(stat.fragment_size()), free.saturating_mul(stat.fragment_size()))
}

fn is_memory(place: &Path) -> bool {
    statfs(place).is_ok_and(|stat| stat.filesystem_type() == TMPFS_MAGIC)
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
            match Self::create_in(&place, NAME, is_root) {
                Ok(mut run_dir) => {
                    run_dir.add_spill(is_root);
                    return Ok(run_dir);
                }
                Err(error) => refusals.push(format!("{}: {error}", place.display())),
            }
        }
        Err(anyhow!("no folder for the data of the running program ({})", refusals.join("; ")))
    }

    /// Adds a folder on another file system, if there is one, and tells processes of it. Without
    /// it, they have what there is.
    fn add_spill(&mut self, is_root: bool) {
        let device = |path: &Path| path.metadata().map(|metadata| metadata.dev());
        let Ok(own) = device(&self.path) else { return };
        let mut others = places(is_root).into_iter();
        let spill = others
            .by_ref()
            .filter(|place| device(place).is_ok_and(|device| device != own) && !is_memory(place))
            .find_map(|place| Self::create_in(&place, SPILL_NAME, is_root).ok());
        let (path, leave) = spill.as_ref().map_or((Path::new(""), 0), |s| (s.arenas(), s.leave));
        let text = format!("{}:{leave}:{}", self.leave, path.display());
        let _ = symlink(text, self.arenas.join(SHARES));
        if let Some(mut spill) = spill
            && symlink(&spill.path, self.path.join(SPILL)).is_ok()
        {
            let mut home = OsString::from(format!("{own}:"));
            home.push(&self.path);
            let _ = symlink(home, spill.path.join(HOME));
            spill.keep = true;
            self.locks.append(&mut spill.locks);
            self.spill = Some((spill.path.clone(), spill.arenas.clone()));
        }
    }

    fn create_in(place: &Path, name: &str, is_root: bool) -> io::Result<Self> {
        let (leave, free) = shares(place);
        let template = place.join(format!("{name}-{}-XXXXXX", std::process::id()));
        let path = mkdtemp(&template)?;
        let arenas = path.join(if is_root {
            let mut random = [0; 16];
            File::open("/dev/urandom")?.read_exact(&mut random)?;
            random.iter().fold(format!("{ARENAS}-"), |name, byte| format!("{name}{byte:02x}"))
        } else {
            ARENAS.into()
        });
        let lock = File::open(&path).and_then(|folder| folder.lock().map(|()| folder)).ok();
        let (spill, keep, locks, is_made) = (None, false, lock.into_iter().collect(), true);
        let run_dir = Self { path, arenas, spill, leave, free, keep, locks, is_made };
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
        let arenas = arenas_in(path)
            .with_context(|| format!("{}: cannot be read", path.display()))?
            .with_context(|| {
                format!("{}: is no run folder of csprof: it has no arenas in it", path.display())
            })?;
        let spill = fs::read_link(path.join(SPILL)).ok();
        let spill = spill.and_then(|spill| Some((spill.clone(), arenas_in(&spill).ok()??)));
        let path = path.to_path_buf();
        let (leave, free, keep, locks, is_made) = (0, 0, true, Vec::new(), false);
        Ok(Self { path, arenas, spill, leave, free, keep, locks, is_made })
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

    /// Notes where the profile will be saved.
    pub fn note_output(&self, path: &Path) {
        let _ = symlink(path, self.path.join(OUTPUT));
    }

    /// Where the profile will be saved, if somebody will.
    #[must_use]
    pub fn output(&self) -> Option<PathBuf> {
        fs::read_link(self.path.join(OUTPUT)).ok()
    }

    /// All folders that have arenas in them.
    pub fn all_arenas(&self) -> impl Iterator<Item = &Path> {
        core::iter::once(&*self.arenas).chain(self.spill.iter().map(|(_, arenas)| &**arenas))
    }

    /// Takes a folder that was [opened](Self::open), so that no other csprof saves or removes what
    /// is in it meanwhile. Returns whether it could be had: the csprof that has made it may live,
    /// or another have taken it.
    pub fn take(&mut self) -> bool {
        /// Who only asks whether it is taken has it for a moment; who was killed, a little longer.
        const PATIENCE: Duration = Duration::from_secs(1);
        let Ok(folder) = File::open(&self.path) else { return false };
        let begin = Instant::now();
        // A file system without locks keeps nobody out.
        while matches!(folder.try_lock(), Err(TryLockError::WouldBlock)) {
            if begin.elapsed() > PATIENCE {
                return false;
            }
            thread::sleep(Duration::from_millis(10));
        }
        // Who had it may have removed it.
        let id = |of: io::Result<fs::Metadata>| of.ok().map(|of| (of.dev(), of.ino()));
        let is_there = id(folder.metadata()) == id(self.path.metadata());
        self.locks.push(folder);
        is_there
    }

    /// Whether each arena says by itself that no process can write to it any more, in whatever
    /// container; of one without header or lock that is not known before the folder is old.
    pub(super) fn is_settled(&self) -> bool {
        let is_settled = |path: PathBuf| {
            let Some((header, file)) =
                self.open_arena(&path).ok().and_then(|(file, _)| begun(file))
            else {
                return is_old(&self.path);
            };
            match header.flags & FLAG_LOCKED {
                0 => header.end_ns > 0 || is_old(&self.path) && !is_used(&header, &file),
                _ => !is_locked(&file),
            }
        };
        self.arena_paths().0.into_iter().all(is_settled)
    }

    /// Moves the arenas of processes that have ended to the disk, if half of the run's share of
    /// memory is taken.
    pub fn make_room(&self) {
        let Some((folder, spill)) = &self.spill else { return };
        // A disk gives room on a disk to nobody.
        if !is_memory(&self.arenas) {
            return;
        }
        let (_, free) = shares(&self.arenas);
        if free > self.leave + self.free.saturating_sub(self.leave) / 2 {
            return;
        }
        let (paths, _) = arena_paths_in(&self.arenas);
        for path in paths {
            let Ok((file, _)) = open_arena(&path) else { continue };
            let Some((header, mut file)) = begun(file) else { continue };
            // One without a lock is of who could not lock it, and may be mapped by anybody.
            let is_used = header.flags & FLAG_LOCKED == 0 || is_used(&header, &file);
            let Some(name) = path.file_name().filter(|_| !is_used) else { continue };
            // It could not be removed here.
            if spill.join(name).exists() {
                continue;
            }
            // Not under its name until it is whole; and, as all of the run's users may write to the
            // other folder, not in there.
            let partial = folder.join("moving");
            let moved = create_like(&file, &partial)
                .and_then(|mut copy| {
                    file.rewind()?;
                    io::copy(&mut file, &mut copy)
                })
                .and_then(|_| fs::rename(&partial, spill.join(name)))
                .and_then(|()| fs::remove_file(&path));
            let Err(error) = moved else { continue };
            let _ = fs::remove_file(&partial);
            // What csprof has no right to move stays; no other could be moved to a full disk.
            if error.kind() != io::ErrorKind::PermissionDenied {
                return;
            }
        }
    }

    /// Bytes that all arenas have of their file systems, together.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        let (paths, _) = self.arena_paths();
        let blocks = paths.iter().filter_map(|path| Some(path.symlink_metadata().ok()?.blocks()));
        // Of 512 bytes each, whatever the block size of the file system is (stat(2)).
        blocks.fold(0, |sum: u64, blocks| sum.saturating_add(blocks.saturating_mul(512)))
    }

    /// Leaves the folder in place, for `csprof salvage`.
    pub fn keep(&mut self) {
        self.keep = true;
    }

    /// Makes one at this place.
    #[cfg(test)]
    pub(super) fn create_at(place: &Path) -> io::Result<Self> {
        Self::create_in(place, "csprof", Uid::effective().is_root())
    }

    /// Removes the folder now, if it is this user's.
    pub fn remove(&mut self) {
        self.keep = true;
        let is_known = self.is_made || owner_of(&self.path).is_some() && is_own(&self.path);
        if !is_known {
            return;
        }
        // A program that still runs may add a file at this moment; what is left over is small.
        let _ = fs::remove_dir_all(&self.path);
        let is_spill = |spill: &Path| maker_in_name(spill, SPILL_NAME).is_some() && is_own(spill);
        if let Some((spill, _)) = &self.spill
            && (self.is_made || is_spill(spill))
        {
            let _ = fs::remove_dir_all(spill);
        }
    }

    /// Removes the folder, of which a profile is saved, if it was read but for so many files. If
    /// there are some, it stays, and this returns what is to be said.
    pub fn remove_saved(&mut self, unread: usize) -> Option<String> {
        if unread == 0 {
            self.remove();
            return None;
        }
        self.keep();
        let (files, them) = if unread == 1 { ("file", "it") } else { ("files", "them") };
        let path = self.path.display();
        Some(format!(
            "{path}: stays, for {unread} {files} of it cannot be read; once {them} can be, csprof \
             salvage {path} -o FILE makes the profile again"
        ))
    }

    /// Reads all arenas. Files that are none, or cannot be read, give a warning each.
    #[must_use]
    pub fn read_arenas(&self) -> ReadArenas {
        let (paths, mut warnings) = self.arena_paths();
        let (mut arenas, mut empty, mut foreign) = (Vec::new(), 0, 0);
        for path in paths {
            let arena = self
                .open_arena(&path)
                .and_then(|(mut file, backed)| arena_read::read(&mut file, backed));
            let why = match arena {
                Ok(arena) => {
                    arenas.push(arena);
                    continue;
                }
                Err(NoArena::Empty) => {
                    empty += 1;
                    continue;
                }
                Err(NoArena::Foreign(why)) => {
                    foreign += 1;
                    format!("is no arena: {why}")
                }
                Err(NoArena::Unreadable(why)) => format!("cannot be read: {why}"),
                Err(NoArena::Io(error)) => format!("cannot be read: {error}"),
            };
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            warnings.push(match name.split_once('-') {
                Some((pid, _)) => {
                    format!("what process {pid} has sampled is missing: its file {name} {why}")
                }
                None => format!("{name}: {why}"),
            });
        }
        let unread = warnings.len() - foreign;
        if empty > 0 {
            let processes = if empty == 1 { "process" } else { "processes" };
            warnings.push(format!("{empty} {processes} {LEFT_NO_SAMPLES}"));
        }
        ReadArenas { arenas, warnings, unread, foreign }
    }

    /// Opens the copies that processes have left of the modules of this profile, by their names, as
    /// many as may reasonably be open. Where csprof is root's, any user may put files there: only
    /// those of root, this user and the users of the run's processes count, with no other name.
    #[must_use]
    pub fn copies(&self, profile: &Profile) -> HashMap<String, File> {
        const MOST: usize = 256;
        let (arenas, _) = self.arena_paths();
        let owners = arenas.iter().filter_map(|arena| fs::symlink_metadata(arena).ok());
        let owners = owners.map(|arena| arena.uid()).chain([0, Uid::effective().as_raw()]);
        let owners: HashSet<u32> = owners.collect();
        let open = |name: &str| {
            self.all_arenas().find_map(|folder| {
                let (file, _) = open_arena(&folder.join(name)).ok()?;
                let status = file.metadata().ok()?;
                let is_own = owners.contains(&status.uid()) && status.nlink() == 1;
                (is_own && status.len() <= MOST_COPIED).then_some(file)
            })
        };
        let names = profile.modules.iter().enumerate().filter_map(|(number, module)| {
            let mut files = profile.files.iter().filter(|file| file.module.index() == number);
            copy_name(&module.build_id, files.next().map(|file| &file.file))
        });
        let names = names.collect::<HashSet<_>>().into_iter();
        let opened = |name: String| {
            let file = open(&name)?;
            Some((name, file))
        };
        names.filter_map(opened).take(MOST).collect()
    }

    /// Opens an arena, also one that was moved to the disk since it was listed.
    fn open_arena(&self, path: &Path) -> Result<(File, u64), NoArena> {
        let opened = open_arena(path);
        match (&opened, &self.spill, path.file_name()) {
            (Err(NoArena::Io(error)), Some((_, spill)), Some(name))
                if error.kind() == io::ErrorKind::NotFound =>
            {
                open_arena(&spill.join(name)).or(opened)
            }
            _ => opened,
        }
    }

    /// Headers of the arenas that have one, with the files, one open at a time.
    pub fn begun_arenas(&self) -> impl Iterator<Item = (ArenaHeader, File)> {
        let begun = |path: PathBuf| begun(self.open_arena(&path).ok()?.0);
        self.arena_paths().0.into_iter().filter_map(begun)
    }

    /// Whether somebody uses it, in whatever container: the csprof that has made it, the program
    /// that this one became and that may be about to begin, or a process of the run.
    #[must_use]
    pub fn is_in_use(&self) -> bool {
        has_maker(&self.path, NAME) || self.has_used_arena()
    }

    /// Whether a process of the run has an arena.
    pub(super) fn has_used_arena(&self) -> bool {
        self.begun_arenas().any(|(header, file)| is_used(&header, &file))
    }

    /// Whether no process has left anything, on the disk either.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.arena_paths().0.is_empty()
    }

    fn arena_paths(&self) -> (Vec<PathBuf>, Vec<String>) {
        let (mut paths, mut warnings) = arena_paths_in(&self.arenas);
        if let Some((_, spill)) = &self.spill {
            let (moved, more) = arena_paths_in(spill);
            // One that was being moved when csprof was killed is in both.
            let names: HashSet<_> = moved.iter().filter_map(|path| path.file_name()).collect();
            paths.retain(|path| path.file_name().is_none_or(|name| !names.contains(name)));
            paths.extend(moved.iter().cloned());
            warnings.extend(more);
        }
        (paths, warnings)
    }
}

fn arenas_in(path: &Path) -> io::Result<Option<PathBuf>> {
    let mut entries = fs::read_dir(path)?.filter_map(Result::ok);
    let arenas = entries.find(|entry| entry.file_name().to_string_lossy().starts_with(ARENAS));
    Ok(arenas.map(|entry| entry.path()))
}

/// The header of an arena, if it has begun.
pub(super) fn header_of(path: &Path) -> Option<ArenaHeader> {
    Some(begun(open_arena(path).ok()?.0)?.0)
}

fn arena_paths_in(folder: &Path) -> (Vec<PathBuf>, Vec<String>) {
    match fs::read_dir(folder) {
        Ok(entries) => {
            let paths = entries.filter_map(Result::ok).map(|entry| entry.path());
            let is_arena =
                |path: &PathBuf| path.as_os_str().as_bytes().ends_with(ARENA_SUFFIX.as_bytes());
            (paths.filter(is_arena).collect(), Vec::new())
        }
        Err(error) => {
            let warning = format!("{}: cannot be read: {error}", folder.display());
            (Vec::new(), vec![warning])
        }
    }
}

/// Makes an empty file of the same owner, which says whose copies of modules count.
fn create_like(file: &File, path: &Path) -> io::Result<File> {
    let mut options = File::options();
    let copy = options.write(true).create(true).truncate(true).mode(0o600).open(path)?;
    let owner = file.metadata()?.uid();
    if copy.metadata()?.uid() != owner {
        fchown(&copy, Some(owner), None)?;
    }
    Ok(copy)
}

/// The header of an arena that has one, and the file.
fn begun(mut file: File) -> Option<(ArenaHeader, File)> {
    Some((arena_read::read_header(&mut file).ok()?, file))
}

/// Whether a process has an arena mapped, in whatever container: the kernel drops the lock with the
/// last of them. The collector locks the file before it writes the header, and never again, so
/// asking takes nothing from it. Where it could not, whether there is such a process here.
pub(super) fn is_used(header: &ArenaHeader, file: &File) -> bool {
    match header.flags & FLAG_LOCKED {
        0 => process::is_alive(header.pid),
        _ => is_locked(file),
    }
}

/// Whether somebody else has locked a file. If nobody has, others who ask hear the same, and who
/// wants to lock it has to wait until the file is closed here.
fn is_locked(file: &File) -> bool {
    matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock))
}

impl Drop for RunDir {
    fn drop(&mut self) {
        let has_arenas = !self.arena_paths().0.is_empty();
        if thread::panicking() && has_arenas {
            // An error in csprof is no reason to lose an hour of somebody's program.
            let kept = kept_text(&self.path);
            let _ = print::message(kept);
        } else if !self.keep {
            self.remove();
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
    let file = foreign_file::open_to_read(path).map_err(|error| {
        let is_link = error.raw_os_error() == Some(libc::ELOOP);
        if is_link || error.kind() == io::ErrorKind::InvalidInput {
            NoArena::Foreign(error.to_string())
        } else {
            NoArena::Io(error)
        }
    })?;
    let metadata = file.metadata()?;
    // st_blocks counts 512 bytes each, whatever the block size of the file system is (stat(2)).
    Ok((file, metadata.blocks().saturating_mul(512)))
}

/// The process id in the name of a run folder: of the csprof that made it.
pub(super) fn owner_of(run_dir: &Path) -> Option<u32> {
    maker_in_name(run_dir, NAME)
}

/// The process id in the name of a folder that is called so.
pub(super) fn maker_in_name(folder: &Path, name: &str) -> Option<u32> {
    let rest = folder.file_name()?.to_str()?.strip_prefix(name)?.strip_prefix('-')?;
    rest.split_once('-')?.0.parse().ok()
}

/// Whether the csprof that has made a folder lives, in whatever container, or the program that it
/// has become does here. Earlier versions have not locked it.
pub(super) fn has_maker(folder: &Path, name: &str) -> bool {
    maker_in_name(folder, name).is_some_and(process::is_alive)
        || File::open(folder).is_ok_and(|folder| is_locked(&folder))
}

/// Whether this is a folder of this user.
pub(super) fn is_own(path: &Path) -> bool {
    let own = Uid::effective().as_raw();
    path.symlink_metadata().is_ok_and(|metadata| metadata.is_dir() && metadata.uid() == own)
}

/// Whether a folder has been as it is for an hour. Who has made it may live where other ids of
/// processes are, and be about to begin.
pub(super) fn is_old(path: &Path) -> bool {
    let time = path.metadata().and_then(|metadata| metadata.modified());
    time.is_ok_and(|time| time.elapsed().is_ok_and(|age| age > Duration::from_secs(3600)))
}

/// Folders to try, best first.
fn places(is_root: bool) -> Vec<PathBuf> {
    let mut places = Vec::new();
    let shm = Path::new("/dev/shm");
    let (leave, free) = shares(shm);
    let has_share = is_memory(shm) && free.saturating_sub(leave) >= LEAST_SHARE;
    if has_share {
        places.push(shm.to_path_buf());
    }
    // root's own folders are closed to processes that drop their privileges.
    if !is_root {
        places.extend(std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from));
    }
    places.push(std::env::temp_dir());
    places.push(PathBuf::from("/tmp"));
    places.push(PathBuf::from("/var/tmp"));
    // Small, and better than nothing.
    if !has_share && is_memory(shm) {
        places.push(shm.to_path_buf());
    }
    places.retain(|place| place.is_absolute());
    places
}

#[cfg(test)]
mod tests;
