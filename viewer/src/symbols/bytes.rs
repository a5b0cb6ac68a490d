//! The bytes of one file, in memory as far as they are looked at.
//!
//! A file is mapped: of a debug file of gigabytes only a handful of sections matter, and of these
//! the units that hold sampled functions. Where that is not possible (some file systems refuse it),
//! what is asked for is read and kept.

use std::fs::{File, Metadata};
use std::io::{self, Read as _, Seek as _};
use std::ops::Range;
use std::os::unix::fs::MetadataExt as _;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use object::read::{ReadCache, ReadRef};

use super::mapped::Mapped;

/// A file's bytes, for as long as they are needed.
pub struct FileBytes {
    contents: Contents,
    /// `None` if it is no file.
    opened: Option<Box<Opened>>,
}

/// The file that bytes are of.
struct Opened {
    file: Arc<File>,
    /// How it was when it was opened, and when that was.
    metadata: Metadata,
    time: SystemTime,
}

enum Contents {
    Mapped(Mapped),
    Read(ReadCache<Arc<File>>),
    Memory(Vec<u8>),
}

impl FileBytes {
    /// The bytes of a regular file.
    ///
    /// # Errors
    ///
    /// If nothing can be learned of the file.
    pub fn of_file(file: File) -> io::Result<Self> {
        let (metadata, time) = (file.metadata()?, SystemTime::now());
        let file = Arc::new(file);
        let contents = match Mapped::new(&file) {
            Some(mapped) => Contents::Mapped(mapped),
            None => Contents::Read(ReadCache::new(Arc::clone(&file))),
        };
        Ok(Self { contents, opened: Some(Box::new(Opened { file, metadata, time })) })
    }

    /// Bytes that are no file.
    #[must_use]
    pub fn of_memory(bytes: Vec<u8>) -> Self {
        Self { contents: Contents::Memory(bytes), opened: None }
    }

    /// Which file it is, and how it was when it was opened: a text that differs if one does. It has
    /// the time of the last change of any kind too, which nobody can set back.
    pub(super) fn identity(&self) -> String {
        self.opened.as_ref().map_or_else(String::new, |opened| identity(&opened.metadata))
    }

    /// Whether the file was not changed for so long when it was opened.
    pub(super) fn is_older_than(&self, age: Duration) -> bool {
        self.opened.as_ref().is_none_or(|opened| {
            let (metadata, time) = (&opened.metadata, opened.time);
            let Ok(now) = time.duration_since(UNIX_EPOCH) else { return false };
            let now = i128::try_from(now.as_nanos()).unwrap_or(i128::MAX);
            let age = i128::try_from(age.as_nanos()).unwrap_or(i128::MAX);
            let since = |seconds: i64, nanoseconds: i64| {
                now - (i128::from(seconds) * 1_000_000_000 + i128::from(nanoseconds))
            };
            since(metadata.mtime(), metadata.mtime_nsec()) >= age
                && since(metadata.ctime(), metadata.ctime_nsec()) >= age
        })
    }

    /// When the file was last written to before it was opened, in nanoseconds since 1970-01-01 UTC.
    pub(super) fn modified_ns(&self) -> Option<u64> {
        let metadata = &self.opened.as_ref()?.metadata;
        let seconds = i128::from(metadata.mtime()) * 1_000_000_000;
        u64::try_from(seconds + i128::from(metadata.mtime_nsec())).ok()
    }

    /// Whether the file was written to, cut off, or could not be read since it was opened, so that
    /// nothing of it can be believed.
    pub(super) fn is_changed(&self) -> bool {
        let is_damaged = matches!(&self.contents, Contents::Mapped(mapped) if mapped.is_damaged());
        // Its other times change where it is linked or removed.
        let state = |of: &Metadata| (of.len(), of.mtime(), of.mtime_nsec());
        let is_other = |opened: &Opened| {
            opened.file.metadata().map_or(true, |now| state(&now) != state(&opened.metadata))
        };
        is_damaged || self.opened.as_deref().is_some_and(is_other)
    }

    /// The CRC-32 (of IEEE 802.3, as in zlib) of the whole file, as `.gnu_debuglink` holds it.
    pub(super) fn crc32(&self) -> io::Result<u32> {
        let mut hasher = crc32fast::Hasher::new();
        match (&self.contents, &self.opened) {
            (Contents::Mapped(mapped), _) => hasher.update(mapped),
            (Contents::Memory(bytes), _) => hasher.update(bytes),
            (Contents::Read(_), opened) => {
                // Past what is kept of it, which would be all.
                let opened = opened.as_ref().ok_or(io::ErrorKind::Other)?;
                let mut file = &*opened.file;
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

/// Which file this is, and how it is now.
pub(super) fn identity(file: &Metadata) -> String {
    format!(
        "{} {} {} {}.{} {}.{}",
        file.dev(),
        file.ino(),
        file.len(),
        file.mtime(),
        file.mtime_nsec(),
        file.ctime(),
        file.ctime_nsec()
    )
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
