//! Where sets of frames are kept: a file of the user's, and one beside a profile.
//!
//! | file | for |
//! |---|---|
//! | `$XDG_CONFIG_HOME/csprof/sets`, or `~/.config/csprof/sets` | all profiles |
//! | `PROFILE.sets`, beside the profile | this profile; counts more |
//!
//! Refinements that were saved under a name lie in `refinements` beside the user's sets.
//!
//! All are text, written by hand or from the viewer; [`crate::refine::Sets`] describes it. A
//! recorded profile itself is never changed. A file that cannot be read is a problem like a wrong
//! line in it: it is told, and nothing stops.

use std::ffi::OsString;
use std::fs::{self, TryLockError};
use std::io::{self, Read, Write};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::refine::{FramePattern, Problem, SetText, Sets, defined_in, saved_in};
use csprof_format::whole_file::{self, Existing};

/// How long another viewer is waited for that saves at the same time, and between two looks.
const PATIENCE: Duration = Duration::from_secs(2);
const PAUSE: Duration = Duration::from_millis(5);

/// Files beyond this size are something else.
const MAX_BYTES: u64 = 1 << 20;

/// Which file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SetFile {
    /// The user's, for all profiles.
    User,
    /// The one beside the profile.
    Beside,
}

/// The folder that a variable names; what is not absolute is to be ignored (XDG Base Directory).
pub(crate) fn absolute(name: &str) -> Option<PathBuf> {
    std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute())
}

/// The user's folder for what configures csprof, if there can be one.
#[must_use]
pub fn config_folder() -> Option<PathBuf> {
    let folder = absolute("XDG_CONFIG_HOME");
    let folder = folder.or_else(|| absolute("HOME").map(|home| home.join(".config")));
    folder.map(|folder| folder.join("csprof"))
}

/// The files of sets that belong to a profile.
#[derive(Clone, Debug, Default)]
pub struct SetFiles {
    user: Option<PathBuf>,
    beside: Option<PathBuf>,
    refinements: Option<PathBuf>,
}

impl SetFiles {
    /// Those of a profile's file; standard input (`-`) and no file have the user's alone.
    #[must_use]
    pub fn of(profile: Option<&Path>) -> Self {
        let beside = profile.filter(|path| path.as_os_str() != "-").map(|path| {
            let mut name = OsString::from(path);
            name.push(".sets");
            name.into()
        });
        let in_config = |name| config_folder().map(|folder: PathBuf| folder.join(name));
        Self { user: in_config("sets"), beside, refinements: in_config("refinements") }
    }

    /// The place of a file; `None` if there can be none.
    #[must_use]
    pub fn path(&self, file: SetFile) -> Option<&Path> {
        match file {
            SetFile::User => self.user.as_deref(),
            SetFile::Beside => self.beside.as_deref(),
        }
    }

    /// The place of the user's refinements; `None` if there can be none.
    #[must_use]
    pub fn refinements(&self) -> Option<&Path> {
        self.refinements.as_deref()
    }

    /// The sets of both files. Files that do not exist have none.
    #[must_use]
    pub fn load(&self) -> Sets {
        let mut problems = Vec::new();
        let mut text = |path: &Option<PathBuf>| {
            let path = path.as_ref()?;
            let place = path.display().to_string();
            match text_of(path) {
                Ok(text) => Some((place, text)),
                Err(error) if error.kind() == io::ErrorKind::NotFound => None,
                // `PROFILE.sets` where PROFILE is no file either, such as a descriptor.
                Err(error) if error.kind() == io::ErrorKind::NotADirectory => None,
                Err(error) => {
                    problems.push(Problem { place, name: None, cause: error.to_string() });
                    None
                }
            }
        };
        let texts: Vec<_> = [&self.user, &self.beside].into_iter().filter_map(&mut text).collect();
        let refinements = text(&self.refinements);
        let sources: Vec<_> =
            texts.iter().map(|(place, text)| SetText { place, text: text.as_str() }).collect();
        let mut sets = Sets::read(&sources);
        problems.into_iter().for_each(|problem| sets.add_problem(problem));
        if let Some((place, text)) = &refinements {
            sets.read_refinements(SetText { place, text });
        }
        sets
    }

    /// Defines a set in a file, and leaves all else in it as it is; returns the file's place.
    ///
    /// # Errors
    /// If there is no such place, or the file cannot be read or replaced.
    pub fn save(&self, file: SetFile, name: &str, pattern: &FramePattern) -> io::Result<PathBuf> {
        let path = self.path(file).ok_or_else(|| {
            io::Error::other(match file {
                SetFile::User => "neither XDG_CONFIG_HOME nor HOME says where to keep sets",
                SetFile::Beside => "a profile from standard input has no file beside it",
            })
        })?;
        change(path, |old| {
            // Another viewer may have saved a refinement since this one read them.
            self.load().free_set_name(name)?;
            Ok(defined_in(old, name, pattern))
        })
    }

    /// Saves a refinement under a name in the user's file, where the name is free or what it has is
    /// to be replaced, and leaves all else in it as it is; returns the file's place.
    ///
    /// # Errors
    /// If there is no such place, the file cannot be read or replaced, the name is another's, or
    /// the refinement names a set that only this profile has.
    pub fn save_refinement(
        &self,
        name: &str,
        refinement: &str,
        replaces: bool,
    ) -> io::Result<PathBuf> {
        let path = self.refinements.as_deref().ok_or_else(|| {
            io::Error::other("neither XDG_CONFIG_HOME nor HOME says where to keep refinements")
        })?;
        change(path, |old| {
            // Another viewer may have taken the name since this one read them.
            self.load().free_name(name, replaces)?;
            let for_all = Self { beside: None, ..self.clone() }.load();
            for_all.parse(refinement).map_err(|error| {
                match error.text.get(error.range.clone()) {
                    Some(set) if set.starts_with('@') => {
                        format!("{set} is a set of this profile alone")
                    }
                    _ => error.in_one_line(),
                }
            })?;
            Ok(saved_in(old, name, refinement))
        })
    }
}

/// Changes the text of a file, which may not be there; returns its place.
fn change(path: &Path, change: impl FnOnce(&str) -> Result<String, String>) -> io::Result<PathBuf> {
    let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let folder = target.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    fs::create_dir_all(folder)?;
    // Two viewers may save at once. Ends with the handle; some file systems have no locks.
    let handle = fs::File::open(folder)?;
    let end = Instant::now() + PATIENCE;
    while let Err(TryLockError::WouldBlock) = handle.try_lock() {
        if Instant::now() >= end {
            let error = "another program holds a lock on its folder";
            return Err(io::Error::new(io::ErrorKind::ResourceBusy, error));
        }
        sleep(PAUSE);
    }
    let old = match text_of(&target) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
        other => other?,
    };
    let text = change(&old).map_err(io::Error::other)?;
    whole_file::save(&target, Existing::Replaced, |file| file.write_all(text.as_bytes()))?;
    Ok(path.to_owned())
}

/// Puts a text in the place of a file, whole or not at all. It keeps its permissions; a file that
/// was not there is the user's alone.
pub(crate) fn replace(target: &Path, text: &str) -> io::Result<()> {
    let is_new = !target.exists();
    whole_file::save(target, Existing::Replaced, |file| {
        if is_new {
            file.set_permissions(fs::Permissions::from_mode(0o600))?;
        }
        file.write_all(text.as_bytes())
    })
}

/// The text of a small file.
pub(crate) fn text_of(path: &Path) -> io::Result<String> {
    // Opening a pipe would wait for a writer.
    if !fs::metadata(path)?.is_file() {
        return Err(io::Error::other("this is no file"));
    }
    let file = fs::File::open(path)?;
    let mut text = String::new();
    file.take(MAX_BYTES + 1).read_to_string(&mut text)?;
    if text.len() as u64 > MAX_BYTES {
        return Err(io::Error::other("it is larger than 1 MiB"));
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::surroundings::insist;

    fn files(folder: &Path) -> SetFiles {
        SetFiles {
            user: Some(folder.join("csprof/sets")),
            beside: Some(folder.join("run.csprof.sets")),
            refinements: Some(folder.join("csprof/refinements")),
        }
    }

    fn pattern(text: &str) -> FramePattern {
        Sets::default().parse_definition(&format!("@x = {text}")).unwrap().1
    }

    #[test]
    fn what_is_saved_is_loaded_again() {
        let folder = tempfile::tempdir().unwrap();
        let files = files(folder.path());
        assert_eq!(files.load(), Sets::default());
        files.save(SetFile::User, "a", &pattern("{f, g}")).unwrap();
        files.save(SetFile::User, "b", &pattern("h")).unwrap();
        files.save(SetFile::User, "a", &pattern("f")).unwrap();
        files.save(SetFile::Beside, "b", &pattern("k")).unwrap();
        let user = fs::read_to_string(folder.path().join("csprof/sets")).unwrap();
        assert_eq!(user, "@a = f\n@b = h\n");
        let sets = files.load();
        let shown: Vec<_> =
            sets.named().iter().map(|s| format!("@{} = {}", s.name(), s.pattern())).collect();
        assert_eq!(shown, ["@a = f", "@b = k"]);
        let left: Vec<_> = fs::read_dir(folder.path().join("csprof")).unwrap().collect();
        assert_eq!(left.len(), 1, "{left:?}");
    }

    #[test]
    fn what_is_saved_at_once_is_all_there() {
        let folder = tempfile::tempdir().unwrap();
        let files = files(folder.path());
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let files = &files;
                scope.spawn(move || {
                    for number in 0..8 {
                        let name = format!("s{thread}-{number}");
                        let set = format!("{name}-set");
                        insist(|| files.save_refinement(&name, "hide f", false));
                        insist(|| files.save(SetFile::User, &set, &pattern("f")));
                    }
                });
            }
        });
        let text = fs::read_to_string(folder.path().join("csprof/refinements")).unwrap();
        assert_eq!((text.lines().count(), files.load().named().len()), (32, 32));
    }

    #[test]
    fn refinements_are_saved_beside_sets() {
        let folder = tempfile::tempdir().unwrap();
        let files = files(folder.path());
        files.save(SetFile::Beside, "a", &pattern("{f, g}")).unwrap();
        files.save(SetFile::User, "a", &pattern("f")).unwrap();
        files.save_refinement("hot", "through @a | hide h", false).unwrap();
        files.save_refinement("cold", "hide @a", false).unwrap();
        files.save_refinement("hot", "through @a", true).unwrap();
        let text = fs::read_to_string(folder.path().join("csprof/refinements")).unwrap();
        assert_eq!(text, "@hot = through @a\n@cold = hide @a\n");
        let sets = files.load();
        assert_eq!(sets.problems(), []);
        assert_eq!(sets.parse("@hot | @cold").unwrap().to_string(), "through @a | hide @a");
    }

    /// Two viewers that read the files before either of them saved.
    #[test]
    fn a_name_is_one_thing_and_not_replaced_unseen() {
        let folder = tempfile::tempdir().unwrap();
        let files = files(folder.path());
        let error = |saved: io::Result<PathBuf>| saved.unwrap_err().to_string();
        files.save_refinement("hot", "hide f", false).unwrap();
        let again = error(files.save_refinement("hot", "hide g", false));
        assert!(again.contains("saved already"), "{again}");
        for file in [SetFile::User, SetFile::Beside] {
            let set = error(files.save(file, "hot", &pattern("f")));
            assert!(set.contains("a refinement"), "{set}");
        }
        files.save(SetFile::User, "quiet", &pattern("f")).unwrap();
        let set = error(files.save_refinement("quiet", "hide g", true));
        assert!(set.contains("set of frames already"), "{set}");
        assert_eq!(files.load().parse("@hot").unwrap().to_string(), "hide f");
        assert_eq!(files.load().problems(), []);
    }

    /// The file of refinements is for all profiles.
    #[test]
    fn a_refinement_of_all_profiles_names_no_set_of_one() {
        let folder = tempfile::tempdir().unwrap();
        let files = files(folder.path());
        files.save(SetFile::Beside, "here", &pattern("f")).unwrap();
        let error = files.save_refinement("hot", "hide @here", false).unwrap_err().to_string();
        assert_eq!(error, "@here is a set of this profile alone");
        files.save(SetFile::User, "here", &pattern("g")).unwrap();
        files.save_refinement("hot", "hide @here", false).unwrap();
    }

    #[test]
    fn a_file_that_cannot_be_read_is_a_problem_and_is_not_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let files = files(folder.path());
        fs::write(folder.path().join("run.csprof.sets"), b"@a = \xff\n").unwrap();
        fs::create_dir_all(folder.path().join("csprof/sets")).unwrap();
        let sets = files.load();
        let said: Vec<_> = sets.problems().iter().map(|p| p.cause.as_str()).collect();
        assert_eq!(said, ["this is no file", "stream did not contain valid UTF-8"]);
        assert!(files.save(SetFile::Beside, "b", &pattern("k")).is_err());
        assert!(files.save(SetFile::User, "b", &pattern("k")).is_err());
        let kept = fs::read(folder.path().join("run.csprof.sets")).unwrap();
        assert_eq!(kept, b"@a = \xff\n");
    }

    /// Opening one would wait for somebody who writes.
    #[test]
    fn a_pipe_is_no_file_of_sets() {
        let folder = tempfile::tempdir().unwrap();
        let files = files(folder.path());
        let pipe = folder.path().join("run.csprof.sets");
        nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRWXU).unwrap();
        let sets = files.load();
        assert_eq!(sets.problems()[0].cause, "this is no file");
        assert!(files.save(SetFile::Beside, "b", &pattern("k")).is_err());
    }

    #[test]
    fn a_folder_that_cannot_be_written_keeps_its_file() {
        let folder = tempfile::tempdir().unwrap();
        let files = files(folder.path());
        // A file where the folder should be; permissions would not stop root.
        fs::write(folder.path().join("csprof"), "mine").unwrap();
        assert!(files.save(SetFile::User, "b", &pattern("k")).is_err());
        assert_eq!(fs::read(folder.path().join("csprof")).unwrap(), b"mine");
        assert_eq!(files.load(), Sets::default());
    }

    #[test]
    fn standard_input_has_no_file_beside_it() {
        assert_eq!(SetFiles::of(Some(Path::new("-"))).path(SetFile::Beside), None);
        let beside = SetFiles::of(Some(Path::new("runs/a.csprof")));
        assert_eq!(beside.path(SetFile::Beside), Some(Path::new("runs/a.csprof.sets")));
    }
}
