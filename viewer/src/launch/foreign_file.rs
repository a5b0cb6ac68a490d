//! Files in run folders, where somebody else may have put something: root may ask for the run of
//! any user.

use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, fchown};
use std::path::Path;

use nix::fcntl::OFlag;

/// Opens a regular file with these options, without following a link at its end or waiting for the
/// other end of a pipe.
///
/// # Errors
///
/// Those of the kernel; `InvalidInput` if it is something else.
pub(super) fn open(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    let flags = (OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK).bits();
    let file = options.custom_flags(flags).open(path)?;
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file")),
    }
}

/// The same, to be read.
///
/// # Errors
///
/// Those of [`open`].
pub(super) fn open_to_read(path: &Path) -> io::Result<File> {
    open(OpenOptions::new().read(true), path)
}

/// The bytes of a file in a run folder, `most` at most: one that has no other name and is of the
/// folder's owner, so that root shows nobody what is another's.
///
/// # Errors
///
/// Those of [`open`]; `InvalidInput` if it is another's, or longer.
pub(super) fn read(folder: &Path, name: &str, most: u64) -> io::Result<Vec<u8>> {
    let refused = |cause| Err(io::Error::new(io::ErrorKind::InvalidInput, cause));
    let file = open_to_read(&folder.join(name))?;
    let (of_file, of_folder) = (file.metadata()?, folder.metadata()?);
    if of_file.uid() != of_folder.uid() || of_file.nlink() != 1 {
        return refused("it may be somebody else's");
    }
    let mut bytes = Vec::new();
    file.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
    match bytes.len() as u64 > most {
        true => refused("it is too long"),
        false => Ok(bytes),
    }
}

/// Opens a file in a run folder to add to it. For root the folder may be another user's, who must
/// not have it write to what is another's, and who may [read](read) what root has written.
///
/// # Errors
///
/// Those of [`open`]; `InvalidInput` if it has another name, or another owner than the folder.
pub(super) fn append(folder: &Path, name: &str) -> io::Result<File> {
    let path = folder.join(name);
    let owner = folder.metadata()?.uid();
    match open(OpenOptions::new().append(true).create_new(true), &path) {
        Ok(file) => {
            if file.metadata()?.uid() != owner {
                fchown(&file, Some(owner), None)?;
            }
            return Ok(file);
        }
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        Err(error) => return Err(error),
    }
    let file = open(OpenOptions::new().append(true), &path)?;
    let found = file.metadata()?;
    match found.nlink() == 1 && found.uid() == owner {
        true => Ok(file),
        false => Err(io::Error::new(io::ErrorKind::InvalidInput, "it may be somebody else's")),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Write;

    use nix::sys::stat::Mode;

    use super::*;
    use crate::surroundings::is_given_away;

    #[test]
    fn only_what_the_owner_of_the_folder_has_put_there_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let elsewhere = tempfile::NamedTempFile::new().unwrap();
        fs::write(&elsewhere, "a secret").unwrap();
        fs::write(at("own"), "text").unwrap();
        std::os::unix::fs::symlink(&elsewhere, at("link")).unwrap();
        fs::write(at("one"), "text").unwrap();
        fs::hard_link(at("one"), at("other name")).unwrap();
        nix::unistd::mkfifo(&at("pipe"), Mode::S_IRWXU).unwrap();
        let read = |name: &str, most| read(folder.path(), name, most).ok();
        assert_eq!(read("own", 4), Some(b"text".to_vec()));
        assert_eq!(read("own", 3), None, "it is longer");
        let mut added = append(folder.path(), "added").unwrap();
        added.write_all(b"a line").unwrap();
        assert_eq!(read("added", 100), Some(b"a line".to_vec()));
        for name in ["link", "one", "pipe", "."] {
            assert!(append(folder.path(), name).is_err(), "{name}");
        }
        for name in ["link", "one", "pipe", "absent", "."] {
            assert_eq!(read(name, 100), None, "{name}");
        }
        if is_given_away(&at("own"), 65534) {
            assert_eq!(read("own", 4), None, "another's");
        }
    }
}
