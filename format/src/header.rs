//! The first 64 bytes of a saved profile: what it is, which version, which run.
//!
//! ```text
//! 0x00  8  magic        89 43 53 50 50 0d 0a 1a   "\x89CSPP\r\n\x1a"
//! 0x08  2  major        1
//! 0x0a  2  minor        the least version that has all there is in the file
//! 0x0c  4  zero
//! 0x10 16  run id       RunInfo::id, equal for every file saved from one run
//! 0x20  8  start time   nanoseconds since 1970-01-01 UTC
//! 0x28 20  zero
//! 0x3c  4  CRC-32 of bytes 0x00..0x3c
//! ```
//!
//! The magic has a byte above 0x7f, a line end and an end-of-file mark, so that a transfer as text
//! is recognized by what it did to them (the idea of PNG's signature, RFC 2083, section 12.11).

use crate::error::{ErrorKind, Part};
use crate::version::MAJOR;

/// First bytes of a saved profile.
pub(crate) const MAGIC: [u8; 8] = *b"\x89CSPP\r\n\x1a";
/// Length of the header, in bytes.
pub(crate) const FILE_HEADER: usize = 64;

/// The header's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FileHeader {
    /// Major version.
    pub(crate) major: u16,
    /// Minor version.
    pub(crate) minor: u16,
    /// [`RunInfo::id`](crate::profile::RunInfo::id).
    pub(crate) run_id: u128,
    /// `RunInfo::start_unix_ns`.
    pub(crate) start_unix_ns: u64,
}

impl FileHeader {
    /// The header as stored.
    pub(crate) fn to_bytes(self) -> [u8; FILE_HEADER] {
        let mut bytes = [0; FILE_HEADER];
        bytes[0x00..0x08].copy_from_slice(&MAGIC);
        bytes[0x08..0x0a].copy_from_slice(&self.major.to_le_bytes());
        bytes[0x0a..0x0c].copy_from_slice(&self.minor.to_le_bytes());
        bytes[0x10..0x20].copy_from_slice(&self.run_id.to_le_bytes());
        bytes[0x20..0x28].copy_from_slice(&self.start_unix_ns.to_le_bytes());
        let sum = crc32fast::hash(&bytes[..0x3c]);
        bytes[0x3c..].copy_from_slice(&sum.to_le_bytes());
        bytes
    }

    /// Reads the header at the start of `file`, which begins with the magic.
    ///
    /// The layout of this header is the same in every version, so damage is told from a version
    /// of the future: the checksum comes first.
    pub(crate) fn from_bytes(file: &[u8]) -> Result<Self, ErrorKind> {
        let Some(bytes) = file.first_chunk::<FILE_HEADER>() else {
            return Err(ErrorKind::Truncated { missing: (FILE_HEADER - file.len()) as u64 });
        };
        let header = Self {
            major: u16_at(bytes, 0x08),
            minor: u16_at(bytes, 0x0a),
            run_id: u128::from(u64_at(bytes, 0x10)) | u128::from(u64_at(bytes, 0x18)) << 64,
            start_unix_ns: u64_at(bytes, 0x20),
        };
        if u32_at(bytes, 0x3c) != crc32fast::hash(&bytes[..0x3c]) {
            Err(ErrorKind::Checksum(Part::FileHeader))
        } else if header.major != MAJOR {
            Err(ErrorKind::Version { major: header.major, minor: header.minor })
        } else {
            Ok(header)
        }
    }
}

/// The little-endian integer at `offset`; 0 where `bytes` end before it does.
pub(crate) fn u16_at(bytes: &[u8], offset: usize) -> u16 {
    u64_of(bytes, offset, 2) as u16
}

/// See [`u16_at`].
pub(crate) fn u32_at(bytes: &[u8], offset: usize) -> u32 {
    u64_of(bytes, offset, 4) as u32
}

/// See [`u16_at`].
pub(crate) fn u64_at(bytes: &[u8], offset: usize) -> u64 {
    u64_of(bytes, offset, 8)
}

fn u64_of(bytes: &[u8], offset: usize, width: usize) -> u64 {
    let field = bytes.get(offset..offset + width).unwrap_or_default();
    field.iter().rev().fold(0, |value, &byte| value << 8 | u64::from(byte))
}
