//! What can be wrong with a file, and how to say it.
//!
//! A message names the file, the block with its offset, the cause, and what can be done:
//! `run.csprof: block 7 (nodes) at byte 0x1f40: node 17 names parent 19, which comes later;
//! 3 of 9 blocks were readable, use --salvage to open them`.

use core::fmt;
use std::io;
use std::path::{Path, PathBuf};

pub use crate::codec::Malformed;
pub use crate::foreign::Foreign;
pub use crate::kind::BlockKind;
use crate::version;
pub use crate::violation::{Fault, Violation};

/// Why a profile could not be read or written.
#[derive(Debug)]
pub struct Error(Box<Details>);

#[derive(Debug)]
struct Details {
    path: Option<PathBuf>,
    block: Option<BlockPlace>,
    readable: Option<Readable>,
    kind: ErrorKind,
}

/// A block that an error is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockPlace {
    /// Number of the block in the file, from 0.
    pub number: u32,
    /// Number of its kind, if its header could be read; a [`BlockKind`] if this version knows it.
    pub kind: Option<u16>,
    /// Of its header in the file, in bytes.
    pub offset: u64,
}

/// How much of a damaged file could be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Readable {
    /// Blocks read before the damage.
    pub blocks: u32,
    /// Blocks whose headers could be found.
    pub of: u32,
}

/// The cause of an [`Error`].
#[derive(Debug)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The operating system refused.
    Io {
        /// What was being done.
        action: Action,
        /// Its answer.
        source: io::Error,
    },
    /// The path names a folder.
    Folder,
    /// There is a file of this name, and it was not to be replaced.
    Exists,
    /// The file has no bytes.
    Empty,
    /// The file is something else.
    Foreign(Foreign),
    /// The file has a major version that this csprof does not read.
    Version {
        /// Major version of the file.
        major: u16,
        /// Minor version of the file.
        minor: u16,
    },
    /// A block that a reader must understand is of a kind or version from the future.
    UnknownBlock {
        /// Number of the kind.
        kind: u16,
        /// Version of the payload.
        version: u16,
    },
    /// The file ends too early.
    Truncated {
        /// Bytes known to be missing; there may be more.
        missing: u64,
    },
    /// Bytes are not those that were written.
    Checksum(Part),
    /// Blocks do not fit together.
    Layout(Layout),
    /// A payload is not a value.
    Malformed(Malformed),
    /// Values contradict each other.
    Invalid(Violation),
    /// Values that were to be written contradict each other: a fault of csprof.
    Unwritable(Violation),
    /// The file, or what it would grow to, is larger than csprof reads.
    TooMuch {
        /// The limit, in bytes.
        limit: u64,
    },
    /// One element alone does not fit in a block.
    TooLarge {
        /// Its table.
        table: &'static str,
        /// Its number.
        element: u64,
    },
}

/// What was being done when the operating system refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Opening a file.
    Open,
    /// Reading it.
    Read,
    /// Creating a file in this folder.
    Create,
    /// Writing it.
    Write,
    /// Giving it its name.
    Rename,
}

/// A part of the file that has a checksum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The first 64 bytes.
    FileHeader,
    /// The header of a block.
    BlockHeader,
    /// The payload of a block.
    Payload,
}

/// How blocks fail to fit together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// The block has another number than its place.
    Number {
        /// Number in the header.
        found: u32,
    },
    /// The block comes after one of a later kind.
    Order,
    /// The block is of the version for several metrics, and the profile has one, or the reverse.
    Version {
        /// Version of the payload.
        version: u16,
    },
    /// The block's elements do not continue those before it.
    Gap {
        /// First element in the header.
        first: u64,
        /// Elements there are.
        expected: u64,
    },
    /// The block holds another number of elements than its header says.
    Count {
        /// Count in the header.
        declared: u32,
        /// Elements in the payload.
        found: usize,
    },
    /// Columns of one block have different lengths.
    Columns {
        /// Name of the odd one.
        column: &'static str,
    },
    /// Entries of a column that leaves out zeros lie outside the block, or are zero.
    Sparse {
        /// Name of the column.
        column: &'static str,
    },
    /// A node ascends beyond the root of its tree.
    Ascent {
        /// The node.
        node: u64,
    },
    /// The lengths of the strings do not divide the text.
    Lengths,
    /// The payload's length is impossible.
    Length {
        /// Decompressed length in the header.
        decoded: u32,
    },
    /// The payload does not decompress to its length.
    Compression,
    /// Codec, compression or flags are unknown.
    Encoding {
        /// Codec number.
        codec: u8,
        /// Compression number.
        compression: u8,
        /// Flags.
        flags: u16,
    },
    /// The block was written for another run.
    OtherRun,
    /// The run's information contradicts the file header.
    RunHeader,
    /// A block that every profile has is not there.
    Missing(BlockKind),
    /// The end block counts other blocks or elements than there are.
    Totals,
    /// Bytes follow the end block.
    AfterEnd {
        /// How many.
        count: u64,
    },
}

impl Error {
    pub(crate) fn new(kind: ErrorKind) -> Self {
        Self(Box::new(Details { path: None, block: None, readable: None, kind }))
    }

    pub(crate) fn io(action: Action, source: io::Error) -> Self {
        Self::new(ErrorKind::Io { action, source })
    }

    pub(crate) fn in_block(mut self, place: BlockPlace) -> Self {
        self.0.block = Some(place);
        self
    }

    pub(crate) fn with_readable(mut self, readable: Readable) -> Self {
        self.0.readable = Some(readable);
        self
    }

    pub(crate) fn in_file(mut self, path: &Path) -> Self {
        self.0.path = Some(path.to_owned());
        self
    }

    /// Whether the file is a profile of this version that was damaged, so that salvage may help.
    pub(crate) fn is_damage(&self) -> bool {
        match self.0.kind {
            ErrorKind::Truncated { .. }
            | ErrorKind::Checksum(_)
            | ErrorKind::Layout(_)
            | ErrorKind::Malformed(_) => true,
            // What is too much now is too much salvaged.
            ErrorKind::Invalid(violation) => !matches!(violation.fault, Fault::Memory { .. }),
            ErrorKind::Io { .. }
            | ErrorKind::Folder
            | ErrorKind::Exists
            | ErrorKind::Empty
            | ErrorKind::Foreign(_)
            | ErrorKind::Version { .. }
            | ErrorKind::UnknownBlock { .. }
            | ErrorKind::Unwritable(_)
            | ErrorKind::TooMuch { .. }
            | ErrorKind::TooLarge { .. } => false,
        }
    }

    /// The cause.
    #[must_use]
    pub fn kind(&self) -> &ErrorKind {
        &self.0.kind
    }

    /// The file, if one was named.
    #[must_use]
    pub fn path(&self) -> Option<&Path> {
        self.0.path.as_deref()
    }

    /// The block, if the cause lies in one.
    #[must_use]
    pub fn block(&self) -> Option<BlockPlace> {
        self.0.block
    }

    /// How much could be read, if the file is a damaged profile.
    #[must_use]
    pub fn readable(&self) -> Option<Readable> {
        self.0.readable
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.0.kind {
            ErrorKind::Io { source, .. } => Some(source),
            _ => None,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Details { path, block, readable, kind } = &*self.0;
        if let Some(path) = path {
            write!(f, "{}: ", path.display())?;
        }
        if let Some(block) = block {
            write!(f, "{block}: ")?;
        }
        kind.fmt(f)?;
        match readable {
            Some(Readable { blocks: 0, .. }) | None => Ok(()),
            Some(Readable { blocks, of }) => {
                write!(f, "; {blocks} of {of} blocks were readable, use --salvage to open them")
            }
        }
    }
}

impl fmt::Display for BlockPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "block {}", self.number)?;
        match self.kind.map(|number| (number, BlockKind::from_u16(number))) {
            Some((_, Some(kind))) => write!(f, " ({})", kind.table())?,
            Some((number, None)) => write!(f, " (kind {number})")?,
            None => {}
        }
        write!(f, " at byte {:#x}", self.offset)
    }
}

impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io { action, source } => refused(f, *action, source),
            Self::Folder => f.write_str("this is a folder, not a profile"),
            Self::Exists => f.write_str("a file of this name exists and is not replaced"),
            Self::Empty => f.write_str("the file is empty; its recording was not finished"),
            Self::Foreign(foreign) => foreign.fmt(f),
            Self::Version { major, minor } => write!(
                f,
                "this profile has format version {major}.{minor}, and this csprof reads version \
                 {}.x; open it with the csprof that recorded it, or a later one",
                version::MAJOR
            ),
            Self::UnknownBlock { kind, version } => write!(
                f,
                "kind {kind}, version {version} is not known to this csprof, and the profile \
                 means nothing without it; open it with a later csprof"
            ),
            Self::Truncated { missing } => {
                write!(f, "the file is cut off, bytes missing: {missing} or more")
            }
            Self::Checksum(Part::FileHeader) => {
                f.write_str("the file header is damaged: its checksum does not match")
            }
            Self::Checksum(Part::BlockHeader) => {
                f.write_str("the header is damaged: its checksum does not match")
            }
            Self::Checksum(Part::Payload) => {
                f.write_str("the contents are damaged: their checksum does not match")
            }
            Self::Layout(layout) => layout.fmt(f),
            Self::Malformed(malformed) => malformed.fmt(f),
            Self::Invalid(violation) => violation.fmt(f),
            Self::Unwritable(violation) => write!(
                f,
                "the profile was not saved, because it contradicts itself: {violation}; this is \
                 a fault of csprof, please report it"
            ),
            Self::TooMuch { limit } => {
                write!(
                    f,
                    "the profile needs more than {} MiB, the most that a file of its size may ask for",
                    limit >> 20
                )
            }
            Self::TooLarge { table, element } => {
                write!(f, "element {element} of the {table} is larger than a block can be")
            }
        }
    }
}

/// "cannot …: cause; remedy", with the causes that people meet in their words.
fn refused(f: &mut fmt::Formatter<'_>, action: Action, source: &io::Error) -> fmt::Result {
    f.write_str(match action {
        Action::Open => "cannot open the profile: ",
        Action::Read => "cannot read the profile: ",
        Action::Create | Action::Write | Action::Rename => "cannot save the profile: ",
    })?;
    let making = matches!(action, Action::Create | Action::Rename);
    match source.kind() {
        io::ErrorKind::StorageFull => {
            f.write_str("the disk is full; free some space, or choose another place with -o")
        }
        io::ErrorKind::QuotaExceeded => {
            f.write_str("your disk quota is used up; choose another place with -o")
        }
        io::ErrorKind::FileTooLarge => {
            f.write_str("it would be larger than the limit for files (ulimit -f)")
        }
        io::ErrorKind::ReadOnlyFilesystem => {
            f.write_str("the folder is on a read-only file system; choose another with -o")
        }
        io::ErrorKind::PermissionDenied if making => {
            f.write_str("the folder is not writable; choose another with -o")
        }
        io::ErrorKind::NotFound if making => {
            f.write_str("the folder does not exist; make it, or choose another with -o")
        }
        io::ErrorKind::NotADirectory if making => {
            f.write_str("a part of the path is a file, not a folder; choose another with -o")
        }
        io::ErrorKind::IsADirectory if making => {
            f.write_str("there is a folder of this name; choose another with -o")
        }
        io::ErrorKind::PermissionDenied => f.write_str("you may not read this file"),
        io::ErrorKind::NotFound => f.write_str("there is no such file"),
        _ => write!(f, "{source}"),
    }
}

impl fmt::Display for Layout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number { found } => {
                write!(f, "the header says block {found}: blocks were lost or repeated")
            }
            Self::Order => f.write_str("it comes after a block of a later kind"),
            Self::Version { version } => {
                write!(f, "version {version} does not go with the metrics of the profile")
            }
            Self::Gap { first, expected } => {
                write!(f, "its elements begin at {first}, but {expected} came before it")
            }
            Self::Count { declared, found } => {
                write!(f, "it holds {found} elements, but its header says {declared}")
            }
            Self::Columns { column } => {
                write!(f, "the column \"{column}\" is not as long as the others")
            }
            Self::Sparse { column } => {
                write!(f, "the column \"{column}\" has zeros, or values outside the block")
            }
            Self::Ascent { node } => write!(f, "node {node} ascends beyond the root of its tree"),
            Self::Lengths => f.write_str("the lengths of its strings do not divide its text"),
            Self::Length { decoded } => {
                write!(f, "its contents cannot have the length {decoded}")
            }
            Self::Compression => f.write_str("its contents cannot be decompressed"),
            Self::Encoding { codec, compression, flags } => write!(
                f,
                "codec {codec}, compression {compression}, flags {flags:#x} are not known to this \
                 csprof; open it with a later csprof"
            ),
            Self::OtherRun => f.write_str("it belongs to the profile of another run"),
            Self::RunHeader => f.write_str("run and file header contradict each other"),
            Self::Missing(kind) => write!(f, "the profile has no {} block", kind.table()),
            Self::Totals => f.write_str("the end block counts other contents than there are"),
            Self::AfterEnd { count } => write!(f, "bytes after the end of the profile: {count}"),
        }
    }
}
