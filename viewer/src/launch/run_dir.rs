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
//!     arenas-9f0c…/                     0700, as root 01733: CSPROF_RUN_DIR
//!         4712-1763652000.arena
//!         control                       what the run is told while it goes on
//!         shares                        what processes must leave to others; where they go then
//!     spill -> /tmp/csprof-spill-4711-Yb2kD1
//! /tmp/csprof-spill-4711-Yb2kD1/        the same on a disk
//! ```
//!
//! Others need shared memory, too: a run takes half of what is free when it begins, and nothing of
//! a file system as small as Docker's 64 MB. What is beyond goes to a disk: new processes make
//! their arenas there, and arenas of processes that have ended are moved there while others run.

use std::collections::{HashMap, HashSet};
use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, anyhow};
use csprof_format::arena::{ARENA_SUFFIX, ArenaHeader, LEFT_NO_SAMPLES};
use csprof_format::file_identity::{MOST_COPIED, copy_name};
use csprof_format::launch::SHARES;
use csprof_format::profile::Profile;
use nix::fcntl::OFlag;
use nix::sys::stat::makedev;
use nix::sys::statfs::{TMPFS_MAGIC, statfs};
use nix::sys::statvfs::statvfs;
use nix::unistd::{Uid, mkdtemp};

use super::arena_read::{self, Arena, NoArena};
use crate::print;

/// What a run must find in `/dev/shm`, in bytes, for it to be chosen: an arena that cannot grow
/// loses samples.
const LEAST_SHARE: u64 = 64 << 20;

/// What run folders are called, and those on a disk; the id of the process that has made them
/// follows, and random letters.
const NAME: &str = "csprof";
const SPILL_NAME: &str = "csprof-spill";

/// What links to the folder on a disk.
const SPILL: &str = "spill";

/// What the folder with the arenas is called; for root, random digits follow.
const ARENAS: &str = "arenas";

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
    /// Whether this csprof has made it. Of others, names and owners must say that they are run
    /// folders of this user: to root, an environment may name any folder.
    is_made: bool,
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
            spill.keep = true;
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
        let run_dir = Self { path, arenas, spill: None, leave, free, keep: false, is_made: true };
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
        Ok(Self { path, arenas, spill, leave: 0, free: 0, keep: true, is_made: false })
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

    /// All folders that have arenas in them.
    pub fn all_arenas(&self) -> impl Iterator<Item = &Path> {
        core::iter::once(&*self.arenas).chain(self.spill.iter().map(|(_, arenas)| &**arenas))
    }

    /// Moves the arenas of processes that have ended to the disk, if half of the run's share of
    /// memory is taken.
    pub fn make_room(&self) {
        let Some((folder, spill)) = &self.spill else { return };
        // Elsewhere, the device that /proc tells of a mapped file is another than the file's own
        // (overlayfs).
        if !is_memory(&self.arenas) {
            return;
        }
        let (_, free) = shares(&self.arenas);
        if free > self.leave + self.free.saturating_sub(self.leave) / 2 {
            return;
        }
        // In this order: a file that has a first page was mapped by then, for that is how it is
        // written.
        let (mut paths, _) = arena_paths_in(&self.arenas);
        paths.retain(|path| {
            open_arena(path).is_ok_and(|(mut file, _)| arena_read::read_header(&mut file).is_ok())
        });
        let Some(used) = files_in_use() else { return };
        for path in paths {
            let Ok((mut file, _)) = open_arena(&path) else { continue };
            let id = file.metadata().map(|metadata| (metadata.dev(), metadata.ino()));
            let is_used = id.is_ok_and(|id| used.contains(&id));
            let Some(name) = path.file_name().filter(|_| !is_used) else { continue };
            // Not under its name until it is whole; and, as all of the run's users may write to the
            // other folder, not in there.
            let partial = folder.join("moving");
            let moved = File::create(&partial)
                .and_then(|mut copy| io::copy(&mut file, &mut copy))
                .and_then(|_| fs::rename(&partial, spill.join(name)));
            if moved.is_err() || fs::remove_file(&path).is_err() {
                let _ = fs::remove_file(&partial);
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

    /// Reads all arenas. Files that are none, or cannot be read, give a warning each.
    #[must_use]
    pub fn read_arenas(&self) -> (Vec<Arena>, Vec<String>) {
        let (paths, mut warnings) = self.arena_paths();
        let (mut arenas, mut empty) = (Vec::new(), 0);
        for path in paths {
            let arena = open_arena(&path)
                .and_then(|(mut file, backed)| arena_read::read(&mut file, backed));
            let name = path.file_name().unwrap_or_default().display();
            match arena {
                Ok(arena) => arenas.push(arena),
                Err(NoArena::Empty) => empty += 1,
                Err(NoArena::Foreign(why)) => warnings.push(format!("{name}: is no arena: {why}")),
                Err(NoArena::Io(error)) => {
                    warnings.push(format!("{name}: cannot be read: {error}"))
                }
            }
        }
        if empty > 0 {
            let processes = if empty == 1 { "process" } else { "processes" };
            warnings.push(format!("{empty} {processes} {LEFT_NO_SAMPLES}"));
        }
        (arenas, warnings)
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

    /// Whether no process has left anything, on the disk either.
    pub(super) fn is_empty(&self) -> bool {
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

/// The files that processes have mapped, by device and inode; `None` where not all can be asked.
/// Ids of processes do not tell who has an arena: a container has ids of its own.
fn files_in_use() -> Option<HashSet<(u64, u64)>> {
    let mut used = HashSet::new();
    let own = Uid::effective().as_raw();
    for entry in fs::read_dir("/proc").ok()?.filter_map(Result::ok) {
        if !entry.file_name().to_string_lossy().bytes().all(|byte| byte.is_ascii_digit()) {
            continue;
        }
        let maps = match fs::read_to_string(entry.path().join("maps")) {
            Ok(maps) => maps,
            // It has ended meanwhile.
            Err(error) if error.kind() != io::ErrorKind::PermissionDenied => continue,
            // Others' processes are none of the run's, unless root's became theirs.
            Err(_) if entry.metadata().is_ok_and(|of| of.uid() != own && own != 0) => continue,
            Err(_) => return None,
        };
        used.extend(maps.lines().filter_map(mapped_file));
    }
    Some(used)
}

/// Device and inode of a line of maps: `address perms offset major:minor inode path`
/// (proc_pid_maps(5)).
fn mapped_file(line: &str) -> Option<(u64, u64)> {
    let mut words = line.split_ascii_whitespace().skip(3);
    let (major, minor) = words.next()?.split_once(':')?;
    let number = |text| u64::from_str_radix(text, 16).ok();
    let device = makedev(number(major)?, number(minor)?);
    Some((device, words.next()?.parse().ok()?))
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
    usual_places().iter().flat_map(|place| left_over_in(place)).collect()
}

/// Where run folders may be.
fn usual_places() -> Vec<PathBuf> {
    let mut places = vec![PathBuf::from("/dev/shm"), "/tmp".into(), "/var/tmp".into()];
    places.extend(std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from));
    places.push(std::env::temp_dir());
    places.sort();
    places.dedup();
    places
}

fn left_over_in(place: &Path) -> Vec<PathBuf> {
    let has_arenas = |path: &PathBuf| RunDir::open(path).is_ok_and(|run_dir| !run_dir.is_empty());
    abandoned_in(place).into_iter().filter(has_arenas).collect()
}

/// All run folders of this user, whoever made them lives or not.
#[must_use]
pub fn own_folders() -> Vec<PathBuf> {
    usual_places().iter().flat_map(|place| own_folders_in(place)).collect()
}

/// This user's run folders at a place, in the order of their names.
fn own_folders_in(place: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(place) else { return Vec::new() };
    let is_own = |path: &PathBuf| {
        // What others have put into /tmp is not even looked at.
        owner_of(path).is_some() && is_own(path)
    };
    let mut found: Vec<PathBuf> =
        entries.filter_map(Result::ok).map(|entry| entry.path()).filter(is_own).collect();
    found.sort();
    found
}

/// The process id in the name of a run folder: of the csprof that made it.
pub(super) fn owner_of(run_dir: &Path) -> Option<u32> {
    maker_in_name(run_dir, NAME)
}

/// The process id in the name of a folder that is called so.
fn maker_in_name(folder: &Path, name: &str) -> Option<u32> {
    let rest = folder.file_name()?.to_str()?.strip_prefix(name)?.strip_prefix('-')?;
    rest.split_once('-')?.0.parse().ok()
}

/// Whether this is a folder of this user.
fn is_own(path: &Path) -> bool {
    let own = Uid::effective().as_raw();
    path.symlink_metadata().is_ok_and(|metadata| metadata.is_dir() && metadata.uid() == own)
}

/// Whether a folder has been as it is for an hour. Who has made it may live where other ids of
/// processes are, and be about to begin.
pub(super) fn is_old(path: &Path) -> bool {
    let time = path.metadata().and_then(|metadata| metadata.modified());
    time.is_ok_and(|time| time.elapsed().is_ok_and(|age| age > Duration::from_secs(3600)))
}

/// This user's run folders at a place whose csprof has ended.
fn abandoned_in(place: &Path) -> Vec<PathBuf> {
    let runs = |path: &PathBuf| {
        owner_of(path).is_some_and(|pid| Path::new("/proc").join(pid.to_string()).exists())
    };
    own_folders_in(place).into_iter().filter(|path| !runs(path)).collect()
}

/// Removes run folders of this user whose csprof was killed before anything was sampled, as at the
/// end of a job.
pub fn remove_empty_ones() {
    for place in [Path::new("/dev/shm"), &std::env::temp_dir()] {
        for path in abandoned_in(place) {
            if is_old(&path)
                && let Ok(mut run_dir) = RunDir::open(&path)
                && run_dir.is_empty()
            {
                run_dir.remove();
            }
        }
    }
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
mod tests {
    use super::super::arena_bytes::ArenaBytes;
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

        let mut found = RunDir::open(&paths.0).unwrap();
        assert!(found.arenas().starts_with(&paths.0));
        found.remove();
        assert!(!paths.0.exists());
    }

    #[test]
    fn what_was_not_made_as_a_run_folder_is_not_removed() {
        let place = tempfile::tempdir().unwrap();
        let folder = |name: &str| {
            let path = place.path().join(name);
            fs::create_dir_all(path.join(ARENAS)).unwrap();
            path
        };
        let foreign = folder("home");
        RunDir::open(&foreign).unwrap().remove();
        assert!(foreign.exists());
        for (name, is_removed) in [("csprof-spill-1-abc", true), ("csprof-1-abc", false)] {
            let (run, spill) = (folder("csprof-2-abc"), folder(name));
            symlink(&spill, run.join(SPILL)).unwrap();
            RunDir::open(&run).unwrap().remove();
            assert!(!run.exists() && spill.exists() != is_removed, "{name}");
        }
        if Uid::effective().is_root() {
            let run = folder("csprof-3-abc");
            std::os::unix::fs::chown(&run, Some(65534), None).unwrap();
            RunDir::open(&run).unwrap().remove();
            assert!(run.exists());
        }
    }

    #[test]
    fn copies_are_files_of_this_run_that_nobody_else_has() {
        use csprof_format::ids::StringId;
        use csprof_format::profile::{Module, SymbolSource};
        let run_dir = RunDir::create().unwrap();
        let mut profile = Profile::default();
        let names = [1_u8, 2, 3, 4, 5].map(|id| {
            let (path, symbols) = (StringId(0), SymbolSource::default());
            profile.modules.push(Module { path, build_id: vec![id], symbols });
            copy_name(&[id], None).unwrap()
        });
        let at = |name: &str| run_dir.arenas().join(name);
        let [good, linked, link, large, absent] = &names;
        for name in [good, linked, large, &copy_name(&[9], None).unwrap()] {
            fs::write(at(name), "code").unwrap();
        }
        fs::hard_link(at(linked), at("other")).unwrap();
        symlink(at(good), at(link)).unwrap();
        File::options().write(true).open(at(large)).unwrap().set_len(MOST_COPIED + 1).unwrap();
        let names: Vec<String> = run_dir.copies(&profile).into_keys().collect();
        assert_eq!(names, std::slice::from_ref(good), "not {linked}, {link}, {large}, {absent}");
        // Of a user who has no process in the run; only root can make one.
        if Uid::effective().is_root() {
            std::os::unix::fs::chown(at(good), Some(65534), None).unwrap();
            assert!(run_dir.copies(&profile).is_empty());
            fs::write(at("1-1.arena"), "").unwrap();
            std::os::unix::fs::chown(at("1-1.arena"), Some(65534), None).unwrap();
            assert_eq!(run_dir.copies(&profile).len(), 1);
        }
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
                "1 process left no samples: they ended at once, or shared memory was refused (a full \
                 /dev/shm, or a limit)",
                "1-1.arena: cannot be read: Too many levels of symbolic links (os error 40)",
                "2-2.arena: is no arena: it is not a regular file",
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
    fn arenas_of_processes_that_have_ended_are_moved_to_the_disk() {
        let disk = tempfile::tempdir().unwrap();
        let Ok(memory) = tempfile::tempdir_in("/dev/shm") else { return };
        let mut run_dir = RunDir::create_in(memory.path(), "csprof", false).unwrap();
        let spill = RunDir::create_in(disk.path(), "csprof-spill", false).unwrap();
        run_dir.spill = Some((spill.path.clone(), spill.arenas.clone()));
        let first_page = ArenaBytes::new(1, 1, 2).bytes;
        for name in ["1-1.arena", "2-2.arena"] {
            fs::write(run_dir.arenas.join(name), &first_page).unwrap();
        }
        let names = |folder: &Path| {
            let (paths, _) = arena_paths_in(folder);
            let mut names: Vec<String> =
                paths.iter().map(|p| p.file_name().unwrap().to_str().unwrap().into()).collect();
            names.sort();
            names
        };
        (run_dir.leave, run_dir.free) = (0, 0);
        run_dir.make_room();
        assert_eq!(names(&run_dir.arenas).len(), 2, "there is room");
        (run_dir.leave, run_dir.free) = (u64::MAX, u64::MAX);
        run_dir.make_room();
        if files_in_use().is_none() {
            // Not even root may ask all processes here, and one of them could have an arena.
            assert_eq!(names(&run_dir.arenas).len(), 2);
            return;
        }
        assert_eq!(names(&run_dir.arenas), [""; 0]);
        assert_eq!(names(&spill.arenas), ["1-1.arena", "2-2.arena"]);
        assert_eq!(run_dir.arena_paths().0.len(), 2);
        // As the next csprof finds it if this one is killed.
        symlink(&spill.path, run_dir.path.join(SPILL)).unwrap();
        assert!(!RunDir::open(&run_dir.path).unwrap().is_empty());
        drop(run_dir);
        assert!(!spill.path.exists());
    }

    #[test]
    fn a_line_of_maps_tells_the_file() {
        let line = "7f00-7f01 rw-s 00001000 00:1b 4711                  /dev/shm/x (deleted)";
        assert_eq!(mapped_file(line), Some((makedev(0, 0x1b), 4711)));
        assert_eq!(mapped_file("7f00-7f01 rw-p 00000000 00:00 0 [heap]"), Some((0, 0)));
        assert_eq!(mapped_file(""), None);
    }

    #[test]
    fn another_folder_is_no_run_folder() {
        let folder = tempfile::tempdir().unwrap();
        let error = RunDir::open(folder.path()).unwrap_err().to_string();
        assert!(error.ends_with("is no run folder of csprof: it has no arenas in it"), "{error}");
    }
}
