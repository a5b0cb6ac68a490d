//! Where the profile goes: a name that is free, in a folder that can be written to; known before
//! the program runs, because nobody likes to hear afterwards that an hour was in vain.

use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use nix::unistd::{AccessFlags, eaccess};

/// Ending of saved profiles.
pub const SUFFIX: &str = "csprof";

/// Where a profile will be saved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Output {
    /// Absolute: the program may change what `.` means only for itself, but csprof may be asked to
    /// name the file anywhere.
    path: PathBuf,
    /// Whether another name may be taken if this one is in use by then.
    numbered: bool,
    /// Whether an existing file is replaced.
    overwrite: bool,
}

impl Output {
    /// Decides the name: `asked`, or the program's with `.csprof`.
    ///
    /// # Errors
    ///
    /// When the folder does not exist or cannot be written to, or the file asked for exists and
    /// `overwrite` is not set.
    pub fn new(asked: Option<&Path>, program: &OsStr, overwrite: bool) -> Result<Self> {
        let name = match asked {
            Some(path) => path.to_path_buf(),
            None => {
                let mut name = Path::new(program).file_name().unwrap_or(program).to_owned();
                name.push(".");
                name.push(SUFFIX);
                PathBuf::from(name)
            }
        };
        let path = std::path::absolute(&name)?;
        let output = Self { path, numbered: asked.is_none(), overwrite };
        output.check_folder()?;
        if output.path.is_dir() {
            bail!("{}: is a folder; name a file in it", name.display());
        }
        if asked.is_some() && !overwrite && output.path.symlink_metadata().is_ok() {
            bail!("{}: exists already; -f replaces it, or choose another name", name.display());
        }
        Ok(output)
    }

    fn check_folder(&self) -> Result<()> {
        let folder = self.path.parent().unwrap_or(Path::new("/"));
        if !folder.is_dir() {
            bail!("{}: there is no such folder to save the profile in", folder.display());
        }
        if let Err(error) = eaccess(folder, AccessFlags::W_OK | AccessFlags::X_OK) {
            bail!(
                "{}: the profile cannot be saved in this folder: {}; name another with -o FILE",
                folder.display(),
                error.desc()
            );
        }
        Ok(())
    }

    /// Saves by calling `save(path, overwrite)`, which must fail with
    /// [`io::ErrorKind::AlreadyExists`] where it may not overwrite. Returns the path used.
    ///
    /// # Errors
    ///
    /// What `save` returns.
    pub fn save_with<E>(
        &self,
        mut save: impl FnMut(&Path, bool) -> Result<(), E>,
        is_taken: impl Fn(&E) -> bool,
    ) -> Result<PathBuf, E> {
        let mut path = self.path.clone();
        let mut number = 0u32;
        loop {
            match save(&path, self.overwrite) {
                Err(error) if is_taken(&error) && self.numbered => {
                    number += 1;
                    path = numbered(&self.path, number);
                }
                Err(error) => return Err(error),
                Ok(()) => return Ok(path),
            }
        }
    }
}

/// `prog.csprof`, then `prog.1.csprof`, `prog.2.csprof`, …
fn numbered(path: &Path, number: u32) -> PathBuf {
    path.with_extension(format!("{number}.{SUFFIX}"))
}

/// Moves a finished file to `path`; with `overwrite` false, only if nothing is there.
///
/// # Errors
///
/// [`io::ErrorKind::AlreadyExists`], or what the file system says.
pub fn publish(finished: &Path, path: &Path, overwrite: bool) -> io::Result<()> {
    if overwrite {
        return std::fs::rename(finished, path);
    }
    // link(2) fails where rename(2) would replace.
    match std::fs::hard_link(finished, path) {
        Ok(()) => std::fs::remove_file(finished),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(error),
        // File systems without hard links (vfat, some network ones).
        Err(_) if path.symlink_metadata().is_err() => std::fs::rename(finished, path),
        Err(_) => Err(io::ErrorKind::AlreadyExists.into()),
    }
}
