//! What the resolver asks for, and who answers: the boundary between symbols and the file system.
//!
//! Everything else in `symbols` works on what a [`FileSource`] hands over, so that tests can hand
//! over bytes, and so that another source (an archive of binaries, a debug server) needs no change
//! there.

use std::io;
use std::path::PathBuf;

pub use super::bytes::FileBytes;
use super::cache::Cache;
use csprof_format::file_identity::FileIdentity;

/// A file that the resolver wants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileRequest {
    /// The regular file at this path.
    Path(PathBuf),
    /// The vdso image of the kernel that runs now; see vdso(7).
    Vdso,
    /// The copy of a module that a process of the run has left, by its
    /// [name](csprof_format::file_identity::copy_name).
    Copy(String),
}

/// Gives the resolver the files it asks for. Shared by its threads.
pub trait FileSource: Sync {
    /// Opens a file. An error is an ordinary answer: most places where a debug file could be have
    /// none.
    ///
    /// # Errors
    ///
    /// Whatever kept the file from being opened; the text is shown to the user.
    fn open(&self, request: &FileRequest) -> io::Result<FileBytes>;

    /// Which file there is now, if that is known.
    fn identity(&self, _request: &FileRequest) -> Option<FileIdentity> {
        None
    }

    /// Folders that hold separate debug files, in the manner of gdb's `debug-file-directory`:
    /// `FOLDER/.build-id/ab/cdef.debug` and `FOLDER/path/of/module.debug`. First match wins.
    fn debug_folders(&self) -> Vec<PathBuf>;

    /// Folders that hold what debuginfod clients have downloaded: `FOLDER/BUILDID/debuginfo`.
    /// Nothing is ever downloaded from here.
    fn debuginfod_caches(&self) -> Vec<PathBuf> {
        Vec::new()
    }

    /// Where names are remembered from run to run, if anywhere.
    fn cache(&self) -> Option<&Cache> {
        None
    }
}
