//! Files that appear under their name when they are complete, or not at all.
//!
//! A file is written under a temporary name in the same folder and then named (rename(2),
//! link(2)). A process that is killed meanwhile may leave a `.csprof-PID-N` behind.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Seek as _, SeekFrom};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// What is done with a file that exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Existing {
    /// Nothing: an error of the kind `AlreadyExists`.
    Kept,
    /// It is replaced when all is written, and its permissions stay. Where it is a link, the file
    /// that this leads to is replaced. A file that has several names (hard links), that another
    /// user owns, that is mounted, or whose folder takes no new file, is overwritten instead.
    Replaced,
}

/// Writes a file whole. A device or a pipe is written to as it is.
///
/// # Errors
/// Those of the file system, and those of `write`; then a file that can be replaced is unchanged.
/// Where one that is overwritten took a part only, the error names the file that has it all.
pub fn save(
    path: &Path,
    existing: Existing,
    write: impl FnOnce(&mut File) -> io::Result<()>,
) -> io::Result<()> {
    if existing == Existing::Kept {
        let mut temporary = Temporary::beside(path)?;
        write(&mut temporary.file)?;
        temporary.file.sync_data()?;
        return temporary.create(path);
    }
    let before = match fs::metadata(path) {
        Ok(before) => Some(before),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(error),
    };
    let Some(target) = end_of_links(path).filter(|_| before.as_ref().is_none_or(Metadata::is_file))
    else {
        return write(&mut OpenOptions::new().append(true).open(path)?);
    };
    // Whoever may not write to a file may not replace it, either.
    let open = |_| OpenOptions::new().write(true).open(&target);
    let mut old = before.as_ref().map(open).transpose()?;
    let mut temporary = match (Temporary::beside(&target), &mut old) {
        (Err(error), Some(old))
            if [io::ErrorKind::PermissionDenied, io::ErrorKind::ReadOnlyFilesystem]
                .contains(&error.kind()) =>
        {
            old.set_len(0)?;
            return write(old);
        }
        (made, _) => made?,
    };
    let replaces = before.as_ref().map(|before| temporary.become_like(before)).transpose()?;
    write(&mut temporary.file)?;
    temporary.file.sync_data()?;
    let renamed = match replaces {
        Some(false) => Err(io::ErrorKind::ResourceBusy.into()),
        Some(true) | None => fs::rename(&temporary.path, &target),
    };
    match (renamed, old) {
        (Ok(()), _) => {
            temporary.is_named = true;
            Ok(())
        }
        // Where it is mounted, as in a container.
        (Err(error), Some(mut old)) if error.kind() == io::ErrorKind::ResourceBusy => {
            temporary.file.seek(SeekFrom::Start(0))?;
            // Over the old content, whose room it takes.
            io::copy(&mut temporary.file, &mut old)
                .and_then(|length| old.set_len(length))
                .map_err(|error| temporary.keep(&error))
        }
        (Err(error), _) => Err(error),
    }
}

/// Whether two paths lead to one file.
#[must_use]
pub fn is_same(path: &Path, other: &Path) -> bool {
    let identity = |path: &Path| fs::metadata(path).map(|of| (of.dev(), of.ino())).ok();
    identity(path).is_some_and(|of| identity(other) == Some(of))
}

/// The file that links lead to, whether it exists or not. `None` for an open file of a process
/// (`/dev/stdout`), whose name is not what is meant.
fn end_of_links(path: &Path) -> Option<PathBuf> {
    let mut path = path.to_owned();
    // As many as the kernel follows.
    for _ in 0..40 {
        match fs::read_link(&path) {
            Ok(_) if path.starts_with("/proc") => return None,
            Ok(next) => path = path.parent().unwrap_or(Path::new("/")).join(next),
            Err(_) => break,
        }
    }
    Some(path)
}

/// A file under a temporary name, removed unless it gets its own.
#[derive(Debug)]
pub struct Temporary {
    /// The file, open to be written.
    pub file: File,
    path: PathBuf,
    is_named: bool,
}

impl Temporary {
    /// Makes one in the folder of a file.
    ///
    /// # Errors
    /// Those of open(2); `IsADirectory` for what names a folder.
    pub fn beside(path: &Path) -> io::Result<Self> {
        const MOST: u32 = 100;
        if path.file_name().is_none() {
            return Err(io::ErrorKind::IsADirectory.into());
        }
        let mut options = OpenOptions::new();
        options.read(true).write(true).create_new(true);
        for attempt in 0..=MOST {
            // Short, so that it is allowed wherever the name itself is.
            let hidden = format!(".csprof-{}-{attempt}", std::process::id());
            let temporary = path.with_file_name(hidden);
            match options.open(&temporary) {
                Ok(file) => return Ok(Self { file, path: temporary, is_named: false }),
                // Left by a killed process that had this number, or in use by another thread.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
        let id = std::process::id();
        Err(io::Error::other(format!("files .csprof-{id}-0 to {MOST} are in the way; remove them")))
    }

    /// Gives it a name, also that of a file that exists.
    ///
    /// # Errors
    /// Those of rename(2).
    pub fn replace(mut self, path: &Path) -> io::Result<()> {
        fs::rename(&self.path, path)?;
        self.is_named = true;
        Ok(())
    }

    /// Gives it a name that is free.
    ///
    /// # Errors
    /// `AlreadyExists` if it is not, and those of link(2) and rename(2).
    pub fn create(mut self, path: &Path) -> io::Result<()> {
        // rename(2) replaces; link(2) does not. Where there are no hard links (FAT, some network
        // file systems), an empty file reserves the name instead.
        match fs::hard_link(&self.path, path) {
            Ok(()) => fs::remove_file(&self.path)?,
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Err(error),
            Err(_) => {
                OpenOptions::new().write(true).create_new(true).open(path)?;
                fs::rename(&self.path, path).inspect_err(|_| {
                    // The error that led here is the one to report.
                    let _ = fs::remove_file(path);
                })?;
            }
        }
        self.is_named = true;
        Ok(())
    }

    /// Leaves it under its temporary name, which the error then tells.
    fn keep(&mut self, error: &io::Error) -> io::Error {
        self.is_named = true;
        let path = self.path.display();
        io::Error::new(error.kind(), format!("{error}; the whole of it is in {path}"))
    }

    /// Takes over the permissions of a file; returns whether it can stand in its place: not where
    /// that has other names, or another owner.
    fn become_like(&self, before: &Metadata) -> io::Result<bool> {
        self.file.set_permissions(before.permissions())?;
        let own = self.file.metadata()?;
        Ok(before.nlink() == 1 && (before.uid(), before.gid()) == (own.uid(), own.gid()))
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if !self.is_named {
            // The error that led here is the one to report.
            let _ = fs::remove_file(&self.path);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    #[test]
    fn what_fails_leaves_what_was_there() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        let fail = |file: &mut File| {
            file.write_all(b"half").unwrap();
            Err(io::Error::other("full"))
        };
        for existing in [Existing::Kept, Existing::Replaced] {
            assert!(save(&path, existing, fail).is_err());
            assert!(!path.exists());
        }
        fs::write(&path, "old").unwrap();
        assert!(save(&path, Existing::Replaced, fail).is_err());
        let kept = save(&path, Existing::Kept, |_| Ok(())).unwrap_err();
        assert_eq!(kept.kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(fs::read_to_string(&path).unwrap(), "old");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn links_and_permissions_stay() {
        let folder = tempfile::tempdir().unwrap();
        let [path, link, other] = ["a", "link", "other"].map(|name| folder.path().join(name));
        let write = |path: &Path, text: &str| {
            save(path, Existing::Replaced, |file| file.write_all(text.as_bytes())).unwrap();
        };
        fs::write(&path, "old").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        symlink(&path, &link).unwrap();
        write(&link, "new");
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read_to_string(&path).unwrap(), "new");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o640);
        fs::hard_link(&path, &other).unwrap();
        write(&path, "newer");
        assert_eq!(fs::read_to_string(&other).unwrap(), "newer");
        // Whose file can be read by its owner alone is so while it is written.
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        fs::remove_file(&other).unwrap();
        save(&path, Existing::Replaced, |file| {
            assert_eq!(file.metadata()?.permissions().mode() & 0o777, 0o600);
            file.write_all(b"mine")
        })
        .unwrap();
        fs::hard_link(&path, &other).unwrap();
        let early = folder.path().join("early");
        symlink("later", &early).unwrap();
        write(&early, "made");
        assert_eq!(fs::read_to_string(folder.path().join("later")).unwrap(), "made");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 5);
    }

    #[test]
    fn the_longest_name_and_a_device_are_written_to() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("n".repeat(255));
        for existing in [Existing::Kept, Existing::Replaced] {
            save(&path, existing, |file| file.write_all(b"x")).unwrap();
        }
        let circle = folder.path().join("circle");
        symlink("circle", &circle).unwrap();
        assert!(save(&circle, Existing::Replaced, |_| Ok(())).is_err());
        assert!(fs::symlink_metadata(&circle).unwrap().is_symlink());
        save(Path::new("/dev/null"), Existing::Replaced, |file| file.write_all(b"x")).unwrap();
    }
}
