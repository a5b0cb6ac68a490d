//! How DWARF is read: the type by which all of it names the bytes of a section.

use gimli::{EndianSlice, LittleEndian};

/// Reads the bytes of a section.
pub(super) type Reader<'a> = EndianSlice<'a, LittleEndian>;

/// A reader at the beginning of a section.
pub(super) fn reader(bytes: &[u8]) -> Reader<'_> {
    EndianSlice::new(bytes, LittleEndian)
}
