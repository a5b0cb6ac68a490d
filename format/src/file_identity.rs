//! By which a file is known again that has no build id; and what copies of files are called.

use alloc::format;
use alloc::string::String;

/// Ending of copies of load modules in the run folder.
const MODULE_SUFFIX: &str = ".module";
/// Bytes of such copies that a process makes at most, and so of one of them.
pub const MOST_COPIED: u64 = 64 << 20;

/// What stat(2) says of a file when it is loaded. Of two files, or of one that was changed
/// meanwhile, one of these differs: the time of the last change is the kernel's own, and no program
/// sets it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "saved", derive(serde::Serialize, serde::Deserialize))]
pub struct FileIdentity {
    /// `st_dev`.
    pub device: u64,
    /// `st_ino`.
    pub inode: u64,
    /// In bytes. 0 if the file had no name any more when it was first seen, or another file had
    /// taken it: then no file is this one.
    pub size: u64,
    /// When its content was last written, in nanoseconds since 1970-01-01 UTC; 0 if before.
    pub modified_ns: u64,
    /// When content or inode last changed, likewise.
    pub changed_ns: u64,
}

/// What a copy of a load module is called in the run folder. All processes of a run that have
/// loaded the same one have one copy: the name is made of its build id, else of its file.
///
/// `None` for a module of which neither is known, or only what is used again for other files:
/// device and inode of a file that had no name any more.
#[must_use]
pub fn copy_name(build_id: &[u8], file: Option<&FileIdentity>) -> Option<String> {
    let hash = match build_id {
        [] => crate::fnv_1a(
            file.filter(|file| file.size > 0)?.fields().into_iter().flat_map(u64::to_le_bytes),
        ),
        build_id => crate::fnv_1a(build_id.iter().copied()),
    };
    Some(format!("{hash:032x}{MODULE_SUFFIX}"))
}

#[cfg(feature = "saved")]
impl From<&std::fs::Metadata> for FileIdentity {
    fn from(file: &std::fs::Metadata) -> Self {
        use std::os::unix::fs::MetadataExt as _;
        Self {
            device: file.dev(),
            inode: file.ino(),
            size: file.len(),
            modified_ns: Self::nanoseconds(file.mtime(), file.mtime_nsec()),
            changed_ns: Self::nanoseconds(file.ctime(), file.ctime_nsec()),
        }
    }
}

impl FileIdentity {
    /// All of it, in the order of its fields.
    #[must_use]
    pub const fn fields(&self) -> [u64; 5] {
        [self.device, self.inode, self.size, self.modified_ns, self.changed_ns]
    }

    /// Nanoseconds of a time as stat(2) gives it; 0 before 1970.
    #[must_use]
    pub const fn nanoseconds(seconds: i64, nanoseconds: i64) -> u64 {
        if seconds < 0 || nanoseconds < 0 {
            return 0;
        }
        let whole = seconds.cast_unsigned().saturating_mul(1_000_000_000);
        whole.saturating_add(nanoseconds.cast_unsigned())
    }
}
