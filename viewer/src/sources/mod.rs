//! Source files: where they are now, and what is in them.
//!
//! A profile names a file as the compiler did. It is looked for first at the paths that
//! `--path-map OLD=NEW` makes of that name, then at the name itself, then below folders that the
//! user names later. A file is read as it is: it may be another version than that which was
//! compiled, and whoever shows it says what is known of that. A profile may keep lines of files,
//! for machines without them.

pub mod keep;
mod kept;
mod taken;
mod text;

use std::fs::{self, OpenOptions};
use std::io::{self, Read as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Component, Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;
use std::time::UNIX_EPOCH;

use csprof_format::profile::{self as saved, SourceDoubt};
use nix::libc;

pub use self::text::{SourceText, without_tabs};

/// Most bytes of a file that is read.
const LARGEST: u64 = 16 << 20;

/// How the reason begins why a file of too many lines is not shown.
const TOO_MANY_LINES: &str = "it has more than";

/// Most lines of a file that is shown.
const MOST_LINES: usize = 1_000_000;

/// A beginning of recorded paths, and what stands in its place here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathMap {
    old: PathBuf,
    new: PathBuf,
}

impl FromStr for PathMap {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once('=') {
            Some((old, new)) if !old.is_empty() => {
                Ok(Self { old: PathBuf::from(old), new: PathBuf::from(new) })
            }
            _ => Err("it is OLD=NEW, such as /build/app=/home/me/app".to_owned()),
        }
    }
}

/// Where source files are looked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sources {
    maps: Arc<[PathMap]>,
    folders: Vec<PathBuf>,
}

/// A source file that was found.
#[derive(Clone, Debug)]
pub struct Source {
    /// Where it is.
    pub path: PathBuf,
    /// What is in it.
    pub text: SourceText,
    /// When it was last written to, in nanoseconds since 1970-01-01 UTC, if that is known.
    pub modified_ns: Option<u64>,
    /// Whether only the end of its path is that which was recorded: it lies in a folder that the
    /// user named, and may be another file of the same name.
    pub is_by_end: bool,
    /// How it compares with what the profile keeps.
    pub kept: Kept,
    /// Each place that the user named and where it is not, and why; of what the profile keeps.
    pub tried: Vec<(PathBuf, String)>,
}

/// How a source compares with what the profile keeps of its file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Kept {
    /// The profile keeps nothing of it.
    #[default]
    Nothing,
    /// It is the file that the profile keeps, against which this was known.
    Same(SourceDoubt),
    /// The profile keeps another version of the file, but the user said where this one is.
    Other,
    /// It is what the profile keeps: the file is not here, or another version of it is.
    Shown {
        /// What was known against it.
        doubt: SourceDoubt,
        /// Whether another version of the file is here.
        is_other_here: bool,
    },
}

/// Why a source file cannot be shown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Missing {
    /// Each place where it was looked for, and what was wrong there.
    pub tried: Vec<(PathBuf, String)>,
}

impl Sources {
    /// Sources at what these maps make of their recorded paths, and at these.
    #[must_use]
    pub fn new(maps: Vec<PathMap>) -> Self {
        Self { maps: maps.into(), folders: Vec::new() }
    }

    /// The options that look at the same places, but for folders, which have none.
    #[must_use]
    pub fn options(&self) -> Vec<String> {
        let map = |map: &PathMap| format!("{}={}", map.old.display(), map.new.display());
        self.maps.iter().flat_map(|path_map| ["--path-map".to_owned(), map(path_map)]).collect()
    }

    /// Looks below a folder, too, before those that were added before; `~/` is the user's home. No
    /// text is no folder.
    pub fn add_folder(&mut self, folder: &str) {
        let home = std::env::var_os("HOME").filter(|_| folder == "~" || folder.starts_with("~/"));
        let folder = match home {
            Some(home) => Path::new(&home).join(folder.trim_start_matches(['~', '/'])),
            None => PathBuf::from(folder),
        };
        self.folders.retain(|known| *known != folder);
        if folder != Path::new("") {
            self.folders.insert(0, folder);
        }
    }

    /// The folders that were added, the first one first, as they are called wherever csprof is
    /// started.
    pub fn folders(&self) -> impl Iterator<Item = String> {
        let named = self.folders.iter().filter_map(|folder| std::path::absolute(folder).ok());
        named.filter_map(|folder| folder.into_os_string().into_string().ok())
    }

    /// Finds and reads a file by its recorded path, which begins in `directory` if it is relative.
    ///
    /// # Errors
    /// Where it was looked for.
    pub fn find(&self, recorded: &str, directory: &Path) -> Result<Source, Missing> {
        self.find_in(&[Place::Map, Place::Recorded, Place::Folder], recorded, directory)
    }

    /// The same in some places, one after the other.
    fn find_in(
        &self,
        places: &[Place],
        recorded: &str,
        directory: &Path,
    ) -> Result<Source, Missing> {
        let whole = directory.join(recorded);
        let mut missing = Missing::default();
        let of_place = |place: &Place| -> Vec<PathBuf> {
            let mapped = |map: &PathMap| {
                [Path::new(recorded), &whole]
                    .into_iter()
                    .find_map(|path| Some(map.new.join(path.strip_prefix(&map.old).ok()?)))
            };
            match place {
                Place::Map => self.maps.iter().filter_map(mapped).collect(),
                Place::Recorded => vec![whole.clone()],
                Place::Folder => {
                    self.folders.iter().flat_map(|folder| ends(folder, &whole)).collect()
                }
            }
        };
        let paths =
            places.iter().flat_map(|place| of_place(place).into_iter().map(|of| (of, *place)));
        for (path, place) in paths {
            let is_by_end = place == Place::Folder;
            match read(&path) {
                Ok((bytes, modified_ns)) => {
                    return Ok(Source {
                        path,
                        text: SourceText::new(bytes),
                        modified_ns,
                        is_by_end,
                        kept: Kept::Nothing,
                        tried: Vec::new(),
                    });
                }
                // Of the many places below a folder those count at which something is.
                Err(why) if is_by_end && why == NO_FILE => {}
                Err(why) => missing.tried.push((path, why)),
            }
        }
        if places.contains(&Place::Folder) {
            let nowhere =
                |folder: &PathBuf| (folder.clone(), "the file is not below it".to_owned());
            missing.tried.extend(self.folders.iter().map(nowhere));
        }
        Err(missing)
    }
}

/// A kind of place where source files are looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// What `--path-map` makes of the recorded path.
    Map,
    /// The recorded path.
    Recorded,
    /// Below folders that the user named.
    Folder,
}

/// What the longest end of a path that is below a folder is there, then shorter ones.
fn ends(folder: &Path, whole: &Path) -> Vec<PathBuf> {
    let parts: Vec<_> = whole
        .components()
        .filter(|part| matches!(part, Component::Normal(_)))
        .map(Component::as_os_str)
        .collect();
    // Real paths are no deeper, and each end is a path of its own.
    let deepest = parts.len().saturating_sub(DEEPEST);
    (deepest..parts.len())
        .map(|first| folder.join(parts[first..].iter().collect::<PathBuf>()))
        .collect()
}

/// Most folders of a path that is looked for below another folder.
const DEEPEST: usize = 64;

const NO_FILE: &str = "there is no such file";

fn read(path: &Path) -> Result<(Vec<u8>, Option<u64>), String> {
    let told = |error: io::Error| match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => NO_FILE.to_owned(),
        kind => kind.to_string(),
    };
    // Asked before opening: opening a pipe would wait for a writer.
    if !fs::metadata(path).map_err(told)?.is_file() {
        return Err("it is not a regular file".to_owned());
    }
    // Some of /proc wait for something to read, or say that they have no bytes, and have many.
    let options = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(path);
    let file = options.map_err(told)?;
    let metadata = file.metadata().map_err(told)?;
    if !metadata.is_file() {
        return Err("it is not a regular file".to_owned());
    }
    let too_large = || format!("it is larger than {} MiB", LARGEST >> 20);
    if metadata.len() > LARGEST {
        return Err(too_large());
    }
    let mut bytes = Vec::new();
    let read = file.take(LARGEST + 1).read_to_end(&mut bytes).map_err(told)?;
    if read as u64 > LARGEST {
        return Err(too_large());
    }
    if memchr::memchr_iter(b'\n', &bytes).count() > MOST_LINES {
        return Err(format!("{TOO_MANY_LINES} {MOST_LINES} lines"));
    }
    let modified = metadata.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    Ok((bytes, modified.and_then(|since| u64::try_from(since.as_nanos()).ok())))
}

/// The folder from which relative paths of a run begin.
#[must_use]
pub fn directory(profile: &saved::Profile) -> PathBuf {
    PathBuf::from(std::ffi::OsStr::from_bytes(&profile.run.directory))
}

/// What is known against a file being what was compiled, for people; `None` if nothing is. Lines up
/// to `last` of it have samples; its module was `built` then, in nanoseconds since 1970-01-01 UTC,
/// if that is known.
#[must_use]
pub fn doubt(
    profile: &saved::Profile,
    source: &Source,
    last: u32,
    built: Option<u64>,
) -> Option<String> {
    let lines = source.text.len();
    if (last as usize) > lines {
        return Some(format!(
            "it has {lines} lines, and line {last} was sampled: it is another version"
        ));
    }
    let doubt = match source.kept {
        Kept::Other => return Some("it is another version than is kept in the profile".to_owned()),
        Kept::Same(doubt) | Kept::Shown { doubt, .. } => doubt,
        Kept::Nothing => by_time(profile, source, built),
    };
    let is_kept = source.kept != Kept::Nothing;
    match doubt {
        // What was known when it was kept is of any of its modules and runs.
        SourceDoubt::ChangedAfterRun => {
            let run = if is_kept && profile.runs.len() > 1 { "a run" } else { "the run" };
            Some(format!("it was changed after {run}: lines may have moved"))
        }
        SourceDoubt::NewerThanModule => {
            let module = if is_kept { "a module" } else { "the module" };
            Some(format!("it is newer than {module} it was compiled into: lines may have moved"))
        }
        SourceDoubt::None if source.is_by_end && source.kept == Kept::Nothing => {
            Some("found by the end of its path".to_owned())
        }
        SourceDoubt::None => None,
    }
}

/// What the time at which a file was written to says against it.
fn by_time(profile: &saved::Profile, source: &Source, built: Option<u64>) -> SourceDoubt {
    let begun = profile.run.start_unix_ns;
    match source.modified_ns {
        Some(modified) if begun > 0 && modified > begun => SourceDoubt::ChangedAfterRun,
        Some(modified) if built.is_some_and(|built| modified > built) => {
            SourceDoubt::NewerThanModule
        }
        _ => SourceDoubt::None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(folder: &Path, path: &str) -> PathBuf {
        let path = folder.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, "int a;\n").unwrap();
        path
    }

    fn found(sources: &Sources, recorded: &str, directory: &Path) -> Option<PathBuf> {
        sources.find(recorded, directory).ok().map(|source| source.path)
    }

    /// It says that it has no bytes, and has 2^39.
    #[test]
    fn no_more_is_read_than_a_source_may_have() {
        assert!(read(Path::new("/proc/self/pagemap")).is_err());
    }

    #[test]
    fn a_file_is_found_by_maps_then_where_it_was_compiled_then_in_folders() {
        let folder = tempfile::tempdir().unwrap();
        let here = folder.path();
        let own = written(here, "app/src/a.c");
        let other = written(here, "moved/src/a.c");
        let nowhere = Path::new("/nonexistent");
        let map = |text: String| Sources::new(vec![text.parse().unwrap()]);
        assert_eq!(found(&Sources::default(), own.to_str().unwrap(), nowhere), Some(own.clone()));
        assert_eq!(found(&Sources::default(), "src/a.c", &here.join("app")), Some(own.clone()));
        assert_eq!(found(&Sources::default(), "/build/src/a.c", nowhere), None);
        let mapped = map(format!("/build={}/moved", here.display()));
        assert_eq!(found(&mapped, "/build/src/a.c", nowhere), Some(other.clone()));
        // A beginning of a path is whole folders.
        assert_eq!(found(&mapped, "/build2/src/a.c", nowhere), None);
        // A map comes before the recorded path: the user says where it is.
        let mapped = map(format!("{}/app={}/moved", here.display(), here.display()));
        assert_eq!(found(&mapped, own.to_str().unwrap(), nowhere), Some(other.clone()));
        let mut asked = Sources::default();
        asked.add_folder(here.join("moved").to_str().unwrap());
        assert_eq!(found(&asked, "/build/x/src/a.c", nowhere), Some(other));
        assert_eq!(found(&asked, "/build/x/src/b.c", nowhere), None);
        let deep = "/a".repeat(1 << 19);
        assert_eq!(found(&asked, &deep, nowhere), None);
        // The longest end wins.
        let longest = written(here, "moved/x/src/a.c");
        assert_eq!(found(&asked, "/build/x/src/a.c", nowhere), Some(longest));
        assert!("/build".parse::<PathMap>().is_err() && "=x".parse::<PathMap>().is_err());
    }

    #[test]
    fn what_is_no_source_says_so() {
        let folder = tempfile::tempdir().unwrap();
        let told = |path: &Path| {
            let missing = Sources::default().find(path.to_str().unwrap(), Path::new("/"));
            missing.unwrap_err().tried.remove(0).1
        };
        assert_eq!(told(folder.path()), "it is not a regular file");
        assert_eq!(told(&folder.path().join("a.c")), NO_FILE);
        assert_eq!(told(&written(folder.path(), "b.c").join("c")), NO_FILE);
        let large = folder.path().join("large.c");
        fs::File::create(&large).unwrap().set_len(LARGEST + 1).unwrap();
        assert_eq!(told(&large), "it is larger than 16 MiB");
        let pipe = folder.path().join("pipe");
        nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRWXU).unwrap();
        assert_eq!(told(&pipe), "it is not a regular file");
    }
}
