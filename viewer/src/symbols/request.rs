//! What the resolver asks for, and who answers: the boundary between symbols and the file system.
//!
//! Everything else in `symbols` works on what a [`FileSource`] hands over, so that tests can hand
//! over bytes, and so that another source (an archive of binaries, a debug server) needs no change
//! there.
//!
//! A file is given as a stream to seek in, not as a slice. Of a debug file of gigabytes only a
//! handful of sections matter, and `object`'s `ReadCache` reads just those. The other way to get
//! that, mapping the file, would need `unsafe`, and a file that is truncated while it is mapped (a
//! build that goes on) kills the process with SIGBUS: the process that still has to save the
//! profile.

use std::io::{self, Read, Seek};
use std::path::PathBuf;

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

/// A file that was opened: bytes to read from the start, and to seek in.
pub trait SourceFile: Read + Seek {}

impl<T: Read + Seek> SourceFile for T {}

/// Gives the resolver the files it asks for. Shared by its threads.
pub trait FileSource: Sync {
    /// Opens a file. An error is an ordinary answer: most places where a debug file could be have
    /// none.
    ///
    /// # Errors
    ///
    /// Whatever kept the file from being opened; the text is shown to the user.
    fn open(&self, request: &FileRequest) -> io::Result<Box<dyn SourceFile>>;

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
}
