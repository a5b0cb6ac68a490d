//! The bytes of one file, in memory as far as they are looked at.
//!
//! A file is mapped: of a debug file of gigabytes only a handful of sections matter, and of these
//! the units that hold sampled functions. Where that is not possible (some file systems refuse it),
//! what is asked for is read and kept.

use std::fs::File;
use std::io::{self, Read as _, Seek as _};
use std::ops::Range;
use std::os::unix::fs::MetadataExt as _;
use std::sync::Arc;

use object::read::{ReadCache, ReadRef};

use super::mapped::Mapped;

/// A file's bytes, for as long as they are needed.
pub struct FileBytes {
    contents: Contents,
    /// The file, and how it was when it was opened; `None` if it is none.
    opened: Option<(Arc<File>, State)>,
}

enum Contents {
    Mapped(Mapped),
    Read(ReadCache<Arc<File>>),
    Memory(Vec<u8>),
}

/// What changes when a file's contents do: its size, and when it was last written to, in seconds
/// and nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct State(u64, i64, i64);

impl State {
    fn of(file: &File) -> io::Result<Self> {
        let metadata = file.metadata()?;
        Ok(Self(metadata.len(), metadata.mtime(), metadata.mtime_nsec()))
    }
}

impl FileBytes {
    /// The bytes of a regular file.
    ///
    /// # Errors
    ///
    /// If nothing can be learned of the file.
    pub fn of_file(file: File) -> io::Result<Self> {
        let state = State::of(&file)?;
        let file = Arc::new(file);
        let contents = match Mapped::new(&file) {
            Some(mapped) => Contents::Mapped(mapped),
            None => Contents::Read(ReadCache::new(Arc::clone(&file))),
        };
        Ok(Self { contents, opened: Some((file, state)) })
    }

    /// Bytes that are no file.
    #[must_use]
    pub fn of_memory(bytes: Vec<u8>) -> Self {
        Self { contents: Contents::Memory(bytes), opened: None }
    }

    /// The state of the file when it was opened; `None` if it is none.
    pub(super) fn state(&self) -> Option<State> {
        self.opened.as_ref().map(|(_, state)| *state)
    }

    /// Whether the file was written to, cut off, or could not be read since it was opened, so that
    /// nothing of it can be believed.
    pub(super) fn is_changed(&self) -> bool {
        let is_damaged = matches!(&self.contents, Contents::Mapped(mapped) if mapped.is_damaged());
        let is_other =
            |(file, before): &(Arc<File>, State)| State::of(file).ok().as_ref() != Some(before);
        is_damaged || self.opened.as_ref().is_some_and(is_other)
    }

    /// The CRC-32 (of IEEE 802.3, as in zlib) of the whole file, as `.gnu_debuglink` holds it.
    pub(super) fn crc32(&self) -> io::Result<u32> {
        let mut hasher = crc32fast::Hasher::new();
        match (&self.contents, &self.opened) {
            (Contents::Mapped(mapped), _) => hasher.update(mapped),
            (Contents::Memory(bytes), _) => hasher.update(bytes),
            (Contents::Read(_), opened) => {
                // Past what is kept of it, which would be all.
                let mut file =
                    opened.as_ref().map(|(file, _)| &**file).ok_or(io::ErrorKind::Other)?;
                let mut buffer = vec![0; 1 << 16];
                file.rewind()?;
                loop {
                    match file.read(&mut buffer) {
                        Ok(0) => break,
                        Ok(count) => hasher.update(&buffer[..count]),
                        Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                        Err(error) => return Err(error),
                    }
                }
            }
        }
        Ok(hasher.finalize())
    }
}

impl<'a> ReadRef<'a> for &'a FileBytes {
    fn len(self) -> Result<u64, ()> {
        match &self.contents {
            Contents::Mapped(mapped) => ReadRef::len(&**mapped),
            Contents::Memory(bytes) => ReadRef::len(&**bytes),
            Contents::Read(cache) => cache.len(),
        }
    }

    fn read_bytes_at(self, offset: u64, size: u64) -> Result<&'a [u8], ()> {
        match &self.contents {
            Contents::Mapped(mapped) => (&**mapped).read_bytes_at(offset, size),
            Contents::Memory(bytes) => (&**bytes).read_bytes_at(offset, size),
            Contents::Read(cache) => cache.read_bytes_at(offset, size),
        }
    }

    fn read_bytes_at_until(self, range: Range<u64>, delimiter: u8) -> Result<&'a [u8], ()> {
        match &self.contents {
            Contents::Mapped(mapped) => (&**mapped).read_bytes_at_until(range, delimiter),
            Contents::Memory(bytes) => (&**bytes).read_bytes_at_until(range, delimiter),
            Contents::Read(cache) => cache.read_bytes_at_until(range, delimiter),
        }
    }
}
