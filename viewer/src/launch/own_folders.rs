//! Run folders of this user: all that there are, those that a killed csprof has left, and what of
//! them nobody needs.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::run_dir::{
    CHANGES, HOME, NAME, OUTPUT, PHASES, RUN_FILE, RUN_FILE_UNFINISHED, RunDir, SLICES, SPILL,
    SPILL_NAME, has_maker, is_old, is_own, maker_in_name,
};

/// This user's run folders with arenas whose csprof has ended: it was killed, or could not save the
/// profile. One whose process id is in use again is not found.
pub(super) fn left_over() -> Vec<PathBuf> {
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
pub(super) fn all() -> Vec<PathBuf> {
    usual_places().iter().flat_map(|place| all_in(place)).collect()
}

/// This user's run folders at a place, in the order of their names.
fn all_in(place: &Path) -> Vec<PathBuf> {
    folders_in(place, NAME)
}

/// This user's folders at a place that are called so, in the order of their names.
fn folders_in(place: &Path, name: &str) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(place) else { return Vec::new() };
    let is_own = |path: &PathBuf| {
        // What others have put into /tmp is not even looked at.
        maker_in_name(path, name).is_some() && is_own(path)
    };
    let mut found: Vec<PathBuf> =
        entries.filter_map(Result::ok).map(|entry| entry.path()).filter(is_own).collect();
    found.sort();
    found
}

/// This user's run folders at a place whose csprof has ended.
fn abandoned_in(place: &Path) -> Vec<PathBuf> {
    all_in(place).into_iter().filter(|path| !has_maker(path, NAME)).collect()
}

/// Removes run folders of this user whose csprof was killed before anything was sampled, as at the
/// end of a job; and folders on a disk that belonged to a run folder which is gone, since whoever
/// removes one by hand does not see the other.
pub(super) fn remove_empty_ones() {
    let spills: HashSet<PathBuf> =
        all().iter().filter_map(|folder| fs::read_link(folder.join(SPILL)).ok()).collect();
    for place in usual_places() {
        for path in lost_spills_in(&place, &spills) {
            let _ = fs::remove_dir_all(path);
        }
        for path in abandoned_in(&place) {
            if !is_old(&path) {
                continue;
            }
            match RunDir::open(&path) {
                Ok(mut run_dir) if run_dir.is_empty() => run_dir.remove(),
                Err(_) if is_torso(&path) => drop(fs::remove_dir_all(path)),
                _ => {}
            }
        }
    }
}

/// This user's folders at a place that are none of these, and that nobody uses: neither the csprof
/// that has made one, nor a process of its run, which may have its run folder where nobody else
/// sees it. One with arenas is lost only if its run folder would be seen here.
fn lost_spills_in(place: &Path, known: &HashSet<PathBuf>) -> Vec<PathBuf> {
    let is_lost = |path: &PathBuf| {
        !known.contains(path)
            && is_old(path)
            && !has_maker(path, SPILL_NAME)
            && (is_torso(path)
                || RunDir::open(path).is_ok_and(|spill| {
                    !spill.has_used_arena() && (spill.is_empty() || has_lost_home(path))
                }))
    };
    folders_in(place, SPILL_NAME).into_iter().filter(is_lost).collect()
}

/// Whether a folder has no folder for arenas, and nothing but what csprof puts beside it, under the
/// name that csprof gives (mkdtemp(3)): who was about to make or to remove it was killed. Whatever
/// else may be a folder of the user's.
fn is_torso(path: &Path) -> bool {
    const LETTERS: usize = 6;
    const PARTS: [&str; 8] =
        [SPILL, OUTPUT, HOME, CHANGES, SLICES, PHASES, RUN_FILE, RUN_FILE_UNFINISHED];
    let name = path.file_name().and_then(OsStr::to_str).unwrap_or_default();
    let is_made = name.rsplit_once('-').is_some_and(|(before, random)| {
        random.len() == LETTERS
            && random.bytes().all(|letter| letter.is_ascii_alphanumeric())
            && before.rsplit_once('-').is_some_and(|(name, pid)| {
                [NAME, SPILL_NAME].contains(&name) && pid.parse::<u32>().is_ok()
            })
    });
    let is_part = |entry: io::Result<fs::DirEntry>| {
        entry.is_ok_and(|entry| {
            let is_folder = entry.file_type().is_ok_and(|of| of.is_dir());
            !is_folder && PARTS.iter().any(|part| entry.file_name() == *part)
        })
    };
    is_made && fs::read_dir(path).is_ok_and(|mut entries| entries.all(is_part))
}

/// Whether the run folder of a folder on a disk is gone from a place that is the same here: a
/// container may have its own.
fn has_lost_home(spill: &Path) -> bool {
    let Ok(home) = fs::read_link(spill.join(HOME)) else { return false };
    let mut parts = home.as_os_str().as_bytes().splitn(2, |&byte| byte == b':');
    let (Some(device), Some(path)) = (parts.next(), parts.next()) else { return false };
    let path = Path::new(OsStr::from_bytes(path));
    let place = path.parent().and_then(|place| place.metadata().ok());
    place.is_some_and(|place| place.dev().to_string().as_bytes() == device)
        && matches!(path.try_exists(), Ok(false))
}

#[cfg(test)]
mod tests;
