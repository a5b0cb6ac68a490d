//! What csprof keeps for the user from one run to the next: small files in a folder of state.
//!
//! `$XDG_STATE_HOME/csprof`, or `~/.local/state/csprof`; `CSPROF_STATE` names another one, an
//! absolute path, or none where it is empty. Nothing depends on these files: where there is no such
//! folder, or it is another user's, nothing is kept. What becomes of a file that cannot be read:
//! screens are then as at first, and notes are not changed, since they cannot be made again.
//!
//! Files are replaced whole, so that two viewers at once never see half of one. Only the user can
//! read them: names of functions and command lines may be nobody else's business.

use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Read as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

use nix::fcntl::OFlag;
use nix::unistd::{getegid, geteuid};

use crate::set_files::{absolute, replace};

/// Names the folder, or none where it is empty.
const VARIABLE: &str = "CSPROF_STATE";

/// Bytes of a file at most.
const MOST_BYTES: u64 = 1 << 20;

/// How long another viewer is waited for that changes a file, and how long between two looks.
const PATIENCE: Duration = Duration::from_secs(2);
const PAUSE: Duration = Duration::from_millis(5);

/// A folder of files of one kind.
#[derive(Clone, Debug)]
pub struct StateFolder {
    /// The folders that may have to be made, outermost first; the last one is it.
    folders: Vec<PathBuf>,
}

impl StateFolder {
    /// Why there is no folder, for people.
    #[must_use]
    pub fn why_none() -> &'static str {
        match std::env::var_os(VARIABLE) {
            Some(named) if named.is_empty() => "CSPROF_STATE is empty, so nothing is kept",
            Some(named) if !Path::new(&named).is_absolute() => {
                "CSPROF_STATE must be an absolute path"
            }
            Some(_) => "CSPROF_STATE names no folder of yours, nor one that can be made in one",
            None => "there is no folder for it: HOME or XDG_STATE_HOME names none of yours",
        }
    }

    /// The folder for files of a kind, such as `views`. Nothing is made yet. `None` if there is no
    /// place for it: no home, or another user's.
    #[must_use]
    pub fn of(kind: &str) -> Option<Self> {
        match std::env::var_os(VARIABLE) {
            Some(named) if !Path::new(&named).is_absolute() => None,
            Some(named) => Self::in_parent(Path::new(&named), &[kind]),
            None => match absolute("XDG_STATE_HOME") {
                Some(folder) => Self::in_parent(&folder, &["csprof", kind]),
                // A home that is not there is never made.
                None => Self::within(&absolute("HOME")?, &[".local", "state", "csprof", kind]),
            },
        }
    }

    /// Folders below one that is there, or would be in a folder that is there.
    fn in_parent(folder: &Path, below: &[&str]) -> Option<Self> {
        if folder.exists() {
            return Self::within(folder, below);
        }
        let name = folder.file_name()?.to_str()?;
        Self::within(folder.parent()?, &[&[name], below].concat())
    }

    /// Folders below one that is there and this user's.
    pub(crate) fn within(folder: &Path, below: &[&str]) -> Option<Self> {
        let metadata = fs::metadata(folder).ok()?;
        let is_own = metadata.is_dir() && metadata.uid() == geteuid().as_raw();
        let folders = below.iter().scan(folder.to_owned(), |path, name| {
            path.push(name);
            Some(path.clone())
        });
        is_own.then(|| Self { folders: folders.collect() })
    }

    fn path(&self) -> &Path {
        self.folders.last().map_or(Path::new(""), PathBuf::as_path)
    }

    /// The text of a file; `None` if there is none.
    ///
    /// # Errors
    /// It cannot be read, is no text, or is larger than 1 MiB.
    pub fn read(&self, name: &str) -> io::Result<Option<String>> {
        let file = match self.check().and_then(|()| self.open(name, OpenOptions::new().read(true)))
        {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            file => file?,
        };
        let mut text = String::new();
        file.take(MOST_BYTES + 1).read_to_string(&mut text)?;
        if text.len() as u64 > MOST_BYTES {
            return Err(io::Error::other("the file is larger than 1 MiB"));
        }
        Ok(Some(text))
    }

    /// Puts a text in the place of a file, whole or not at all. Folders are created.
    ///
    /// # Errors
    /// The file or the folder cannot be written, or is not the user's alone, or the text is larger
    /// than can be read again.
    pub fn replace(&self, name: &str, text: &str) -> io::Result<()> {
        self.create()?;
        if text.len() as u64 > MOST_BYTES {
            return Err(io::Error::other("it would be more than 1 MiB"));
        }
        match self.open(name, OpenOptions::new().read(true)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => replace(&self.path().join(name), text),
        }
    }

    /// Changes a file by what it has when nobody else changes it. Waits two seconds for others.
    ///
    /// # Errors
    /// The file or the folder cannot be written, the change cannot be made, or somebody else is at
    /// it all the time.
    pub fn change(
        &self,
        name: &str,
        change: impl FnOnce(Option<String>) -> io::Result<String>,
    ) -> io::Result<()> {
        self.create()?;
        let lock = self
            .open(".lock", OpenOptions::new().write(true).create(true).truncate(false).mode(0o600))
            .map_err(|error| io::Error::other(format!(".lock: {error}")))?;
        let end = Instant::now() + PATIENCE;
        // Ends with the file.
        while let Err(error) = lock.try_lock() {
            match error {
                TryLockError::Error(error) => return Err(error),
                TryLockError::WouldBlock if Instant::now() >= end => {
                    let error = "another program holds its .lock";
                    return Err(io::Error::new(io::ErrorKind::ResourceBusy, error));
                }
                TryLockError::WouldBlock => sleep(PAUSE),
            }
        }
        self.replace(name, &change(self.read(name)?)?)
    }

    /// A file of the user's in the folder. Never waits, as for the writer of a pipe.
    fn open(&self, name: &str, options: &mut OpenOptions) -> io::Result<File> {
        let flags = OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK;
        let file = options.custom_flags(flags.bits()).open(self.path().join(name))?;
        let metadata = file.metadata()?;
        match metadata.is_file() && metadata.uid() == geteuid().as_raw() {
            true => Ok(file),
            false => Err(io::Error::other("this is no file of yours")),
        }
    }

    /// Whether the folders are the user's, and nobody else's to write.
    fn check(&self) -> io::Result<()> {
        for (place, folder) in self.folders.iter().enumerate() {
            // Where state is kept at all may be a link; the folder of the files is none.
            let is_last = place + 1 == self.folders.len();
            let metadata =
                if is_last { fs::symlink_metadata(folder) } else { fs::metadata(folder) }?;
            if !metadata.is_dir() || metadata.uid() != geteuid().as_raw() {
                return Err(io::Error::other(format!(
                    "{} is no folder of yours",
                    folder.display()
                )));
            }
            // Another group may write `~/.local`: what it could put there is not the user's.
            let is_open_to_group = is_last && metadata.gid() != own_group();
            let others = if is_open_to_group { 0o022 } else { 0o002 };
            if metadata.mode() & others != 0 {
                return Err(io::Error::other(format!(
                    "others may write in {0}; chmod go-w {0} makes it yours alone",
                    folder.display()
                )));
            }
        }
        Ok(())
    }

    /// Removes the oldest files that [`file_name`] names, but for so many.
    ///
    /// # Errors
    /// The folder cannot be read.
    pub fn keep_newest(&self, most: usize) -> io::Result<()> {
        let files = fs::read_dir(self.path())?.flatten().filter_map(|entry| {
            let is_own = entry.file_name().to_str().is_some_and(is_file_name);
            let metadata = entry.metadata().ok().filter(|of| is_own && of.is_file())?;
            Some((metadata.modified().ok()?, entry.path()))
        });
        let mut files: Vec<_> = files.collect();
        files.sort();
        for (_, path) in files.iter().rev().skip(most) {
            // Another viewer may have removed it.
            let _ = fs::remove_file(path);
        }
        Ok(())
    }

    fn create(&self) -> io::Result<()> {
        for folder in &self.folders {
            match DirBuilder::new().mode(0o700).create(folder) {
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
                _ => {}
            }
        }
        self.check()
    }
}

/// The group in which the user is alone, by the custom that it has the user's number; folders that
/// are made under a umask of 002 may be written by it, and by nobody else. Where there is none, no
/// group at all: who is in another one is not for csprof to find out.
fn own_group() -> u32 {
    let user = geteuid().as_raw();
    if getegid().as_raw() == user { user } else { u32::MAX }
}

/// The name of a file for something that is known by this text.
#[must_use]
pub fn file_name(key: &[u8]) -> String {
    format!("{:032x}.json", csprof_format::fnv_1a(key.iter().copied()))
}

fn is_file_name(name: &str) -> bool {
    let is_digit = |c: u8| c.is_ascii_digit() || (b'a'..=b'f').contains(&c);
    name.strip_suffix(".json").is_some_and(|name| name.len() == 32 && name.bytes().all(is_digit))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;
    use crate::surroundings::insist;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn files_are_the_users_alone_and_replaced_whole() {
        let folder = tempfile::tempdir().unwrap();
        let state =
            StateFolder::in_parent(&folder.path().join("state"), &["csprof", "views"]).unwrap();
        assert_eq!(state.read("a").unwrap(), None);
        assert!(!folder.path().join("state").exists(), "reading creates nothing");
        state.replace("a", "1").unwrap();
        state.replace("a", "2").unwrap();
        assert_eq!(state.read("a").unwrap().as_deref(), Some("2"));
        let own = folder.path().join("state/csprof/views");
        assert_eq!([mode(&own), mode(&own.join("a"))], [0o700, 0o600]);
        assert_eq!(fs::read_dir(&own).unwrap().count(), 1);
        state.change("a", |text| Ok(text.unwrap() + "3")).unwrap();
        assert_eq!(state.read("a").unwrap().as_deref(), Some("23"));
    }

    #[test]
    fn the_oldest_files_go() {
        let folder = tempfile::tempdir().unwrap();
        let state = StateFolder::within(folder.path(), &["views"]).unwrap();
        let names: Vec<_> = (0..5_u8).map(|name| file_name(&[name])).collect();
        let foreign = ["notes.txt", "x.json", &format!("{}.json", "g".repeat(32))];
        for (name, age) in
            names.iter().map(|name| &**name).chain(foreign).zip([5, 4, 3, 2, 1, 9, 9, 9])
        {
            state.replace(name, "").unwrap();
            let file = File::open(folder.path().join(format!("views/{name}"))).unwrap();
            let time = std::time::UNIX_EPOCH + Duration::from_secs(100 - age);
            file.set_modified(time).unwrap();
        }
        state.keep_newest(2).unwrap();
        let is_left = |name: &str| state.read(name).unwrap().is_some();
        assert_eq!(
            names.iter().map(|name| is_left(name)).collect::<Vec<_>>(),
            [false, false, false, true, true]
        );
        // What csprof has not written stays.
        assert!(foreign.into_iter().all(is_left));
    }

    #[test]
    fn only_files_of_the_user_are_read_and_written() {
        let folder = tempfile::tempdir().unwrap();
        let state = StateFolder::within(folder.path(), &["state", "views"]).unwrap();
        state.replace("a", "1").unwrap();
        let own = folder.path().join("state/views");
        // A pipe would wait for somebody at its other end, a link may lead anywhere.
        nix::unistd::mkfifo(&own.join("pipe"), nix::sys::stat::Mode::S_IRWXU).unwrap();
        let victim = folder.path().join("victim");
        fs::write(&victim, "mine").unwrap();
        std::os::unix::fs::symlink(&victim, own.join("link")).unwrap();
        for name in ["pipe", "link"] {
            assert!(state.read(name).is_err(), "{name}");
            assert!(state.replace(name, "2").is_err(), "{name}");
        }
        assert_eq!(fs::read_to_string(&victim).unwrap(), "mine");
        // More than is read again is not written.
        let large = "x".repeat(MOST_BYTES as usize + 1);
        assert!(state.change("a", |_| Ok(large.clone())).is_err());
        assert_eq!(state.read("a").unwrap().as_deref(), Some("1"));
        // Who holds the lock is not waited for without end.
        let lock = File::open(own.join(".lock")).unwrap();
        lock.lock().unwrap();
        let error = state.change("a", |_| Ok(String::new())).unwrap_err();
        assert!(error.to_string().contains("another program"), "{error}");
        assert_eq!(error.kind(), io::ErrorKind::ResourceBusy);
        drop(lock);
        fs::remove_file(own.join(".lock")).unwrap();
        nix::unistd::mkfifo(&own.join(".lock"), nix::sys::stat::Mode::S_IRWXU).unwrap();
        assert!(state.change("a", |_| Ok(String::new())).is_err());
        // Folders that others may write.
        for open in [own, folder.path().join("state")] {
            let before = fs::metadata(&open).unwrap().permissions();
            fs::set_permissions(&open, fs::Permissions::from_mode(0o777)).unwrap();
            assert!(state.read("a").is_err() && state.replace("a", "2").is_err());
            fs::set_permissions(&open, before).unwrap();
        }
        assert_eq!(state.read("a").unwrap().as_deref(), Some("1"));
    }

    /// As with a umask of 002, where each user has a group of that number.
    #[test]
    fn a_group_of_the_users_own_may_write() {
        let folder = tempfile::tempdir().unwrap();
        let state = StateFolder::within(folder.path(), &["views"]).unwrap();
        state.replace("a", "1").unwrap();
        let own = folder.path().join("views");
        fs::set_permissions(&own, fs::Permissions::from_mode(0o775)).unwrap();
        let is_alone = own_group() == fs::metadata(&own).unwrap().gid();
        assert_eq!(state.read("a").is_ok(), is_alone);
        // A group of many.
        if std::os::unix::fs::chown(&own, None, Some(own_group().wrapping_add(7))).is_ok() {
            let error = state.read("a").unwrap_err().to_string();
            assert!(error.contains("chmod go-w"), "{error}");
        }
    }

    #[test]
    fn a_home_that_is_not_there_is_not_made() {
        let folder = tempfile::tempdir().unwrap();
        let home = [".local", "state", "csprof", "views"];
        assert!(StateFolder::within(&folder.path().join("home"), &home).is_none());
        assert!(StateFolder::in_parent(&folder.path().join("none/state"), &["csprof"]).is_none());
        // A file in its place is no folder.
        fs::write(folder.path().join("file"), "").unwrap();
        assert!(StateFolder::within(&folder.path().join("file"), &home).is_none());
    }

    #[test]
    fn what_changes_a_file_at_once_loses_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let state = StateFolder::within(folder.path(), &["notes"]).unwrap();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..10 {
                        insist(|| state.change("a", |text| Ok(text.unwrap_or_default() + "x")));
                    }
                });
            }
        });
        assert_eq!(state.read("a").unwrap().unwrap().len(), 40);
    }
}
