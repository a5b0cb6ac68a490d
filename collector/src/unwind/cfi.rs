//! From a module's `.eh_frame` to its [`RecipeTable`].
//!
//! SETUP side: allocates, and is never called in a handler. At run time only program headers are
//! at hand, so that a table is built from `PT_GNU_EH_FRAME` alone: its sorted table of FDEs is what
//! the C++ runtime itself searches. The sections are untrusted bytes: what cannot be read becomes
//! [`Recipe::Unsupported`] for the addresses concerned, and is counted.

use std::ops::Range;

use gimli::{
    BaseAddresses, CieOrFde, CommonInformationEntry, EhFrame, EhFrameHdr, EhFrameOffset,
    EndianSlice, FrameDescriptionEntry, LittleEndian, UnwindContext, UnwindContextStorage,
    UnwindSection, UnwindTableRow,
};

use super::arch::recipe::{CalleeSaved, Recipe};
use super::arch::{linkage, translate};
use super::table::{Builder, RecipeTable};

pub(super) type Bytes<'a> = EndianSlice<'a, LittleEndian>;

/// A table and what was met while it was built.
#[derive(Debug)]
pub struct Built {
    /// The recipes, by offset from the start of the text range.
    pub table: RecipeTable,
    /// What was met.
    pub census: Census,
}

/// What was met while a table was built.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Census {
    /// FDEs within the text range.
    pub fdes: u64,
    /// Rows of call frame information evaluated.
    pub rows: u64,
    /// Of these, rows of a kind that no recipe expresses.
    pub unsupported: u64,
    /// FDEs, or the rest of them, that could not be read.
    pub damaged: u64,
    /// Entries of procedure linkage tables that no FDE covers, recognized by their bytes.
    pub linkage_entries: u64,
}

/// Why no table could be built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CfiError {
    /// The text range is empty, or larger than the 4 GB that offsets can express.
    TextRange,
    /// `.eh_frame_hdr` could not be read.
    Header(gimli::Error),
    /// `.eh_frame_hdr` points outside the module's readable segments.
    SectionNotMapped,
    /// The entries of `.eh_frame` could not be enumerated.
    Entries(gimli::Error),
}

impl std::fmt::Display for CfiError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::TextRange => write!(f, "the text range is empty or larger than 4 GB"),
            Self::Header(error) => write!(f, ".eh_frame_hdr cannot be read: {error}"),
            Self::SectionNotMapped => write!(f, ".eh_frame_hdr points outside the module"),
            Self::Entries(error) => write!(f, ".eh_frame cannot be read: {error}"),
        }
    }
}

impl std::error::Error for CfiError {}

/// Builds the table of a loaded module from the contents of its `PT_GNU_EH_FRAME` segment.
///
/// `header` is that segment, at the runtime address `header_address`. `segment_from` gives the
/// bytes of the module from a runtime address to the end of the segment that contains it. `text`
/// is the range of runtime addresses that holds the module's code; the table's offsets count from
/// its start.
///
/// # Errors
///
/// A [`CfiError`] if nothing can be built at all.
pub fn from_header<'a>(
    header: &'a [u8],
    header_address: u64,
    segment_from: impl Fn(u64) -> Option<&'a [u8]>,
    text: Range<u64>,
) -> Result<Built, CfiError> {
    let bases = BaseAddresses::default().set_eh_frame_hdr(header_address).set_text(text.start);
    let parsed =
        EhFrameHdr::new(header, LittleEndian).parse(&bases, 8).map_err(CfiError::Header)?;
    let address = parsed.eh_frame_ptr().direct().map_err(CfiError::Header)?;
    let bytes = segment_from(address).ok_or(CfiError::SectionNotMapped)?;
    let bases = bases.set_eh_frame(address);
    let section = EhFrame::new(bytes, LittleEndian);
    let Some(table) = parsed.table() else {
        return from_section(bytes, address, segment_from, text);
    };

    let mut offsets = Vec::new();
    for entry in table.iter(&bases) {
        let (_, fde) = entry.map_err(CfiError::Header)?;
        let fde = fde.direct().map_err(CfiError::Header)?;
        offsets.push(fde.wrapping_sub(address) as usize);
    }
    Reader { section, bases, text, segment_from }.build(offsets)
}

/// Builds the table from the bytes of `.eh_frame` at `address`, up to its terminator.
///
/// `segment_from` and `text` are as for [`from_header`], and in the same address space as
/// `address`: runtime addresses for a loaded module, the file's own for one that is not.
///
/// # Errors
///
/// A [`CfiError`] if nothing can be built at all.
pub fn from_section<'a>(
    bytes: &'a [u8],
    address: u64,
    segment_from: impl Fn(u64) -> Option<&'a [u8]>,
    text: Range<u64>,
) -> Result<Built, CfiError> {
    let bases = BaseAddresses::default().set_eh_frame(address).set_text(text.start);
    let section = EhFrame::new(bytes, LittleEndian);
    let mut offsets = Vec::new();
    let mut entries = section.entries(&bases);
    while let Some(entry) = entries.next().map_err(CfiError::Entries)? {
        if let CieOrFde::Fde(fde) = entry {
            offsets.push(fde.offset());
        }
    }
    Reader { section, bases: bases.clone(), text, segment_from }.build(offsets)
}

/// Rules of one row that gimli keeps. The general registers and the return address are 17; more
/// are met only in FDEs that describe vector registers.
struct RowStorage;

impl UnwindContextStorage<usize> for RowStorage {
    type Rules = [(gimli::Register, gimli::RegisterRule<usize>); 64];
    type Stack = Box<[UnwindTableRow<usize, Self>; 8]>;
}

struct Reader<'a, F> {
    section: EhFrame<Bytes<'a>>,
    bases: BaseAddresses,
    text: Range<u64>,
    segment_from: F,
}

impl<'a, F: Fn(u64) -> Option<&'a [u8]>> Reader<'a, F> {
    fn build(self, offsets: Vec<usize>) -> Result<Built, CfiError> {
        let length = self.text.end.checked_sub(self.text.start).filter(|length| *length > 0);
        let length = length.and_then(|length| u32::try_from(length).ok());
        let length = length.ok_or(CfiError::TextRange)?;

        let mut census = Census::default();
        let mut fdes = self.fdes(offsets, &mut census);
        fdes.sort_by_key(FrameDescriptionEntry::initial_address);

        let mut builder = Builder::new(length);
        let mut context = UnwindContext::<usize, RowStorage>::new_in();
        let first = fdes.first().map_or(self.text.end, FrameDescriptionEntry::initial_address);
        self.emit_gap(self.text.start..first, &mut builder, &mut census);
        let mut starts = fdes.iter().map(FrameDescriptionEntry::initial_address).skip(1);
        for fde in &fdes {
            let next = starts.next().unwrap_or(self.text.end);
            let end = self.emit(fde, next, &mut context, &mut builder, &mut census);
            self.emit_gap(end..next, &mut builder, &mut census);
        }
        Ok(Built { table: builder.finish(), census })
    }

    /// The entries at these offsets that cover any text.
    fn fdes(
        &self,
        offsets: Vec<usize>,
        census: &mut Census,
    ) -> Vec<FrameDescriptionEntry<Bytes<'a>>> {
        let mut cie: Option<(usize, CommonInformationEntry<Bytes<'a>>)> = None;
        let mut fdes = Vec::with_capacity(offsets.len());
        for offset in offsets {
            let parsed = self.section.fde_from_offset(
                &self.bases,
                EhFrameOffset(offset),
                |section, bases, offset| match &cie {
                    Some((known, entry)) if *known == offset.0 => Ok(entry.clone()),
                    _ => {
                        let entry = section.cie_from_offset(bases, offset)?;
                        cie = Some((offset.0, entry.clone()));
                        Ok(entry)
                    }
                },
            );
            match parsed {
                Ok(fde) if fde.len() > 0 && self.text.contains(&fde.initial_address()) => {
                    census.fdes += 1;
                    fdes.push(fde);
                }
                Ok(_) => {}
                Err(_) => census.damaged += 1,
            }
        }
        fdes
    }

    /// Appends the rows of one FDE, cut off where the next one begins, and returns their end.
    fn emit(
        &self,
        fde: &FrameDescriptionEntry<Bytes<'a>>,
        next: u64,
        context: &mut UnwindContext<usize, RowStorage>,
        builder: &mut Builder,
        census: &mut Census,
    ) -> u64 {
        let end = fde.end_address().min(next).min(self.text.end);
        let unsupported = (Recipe::Unsupported, CalleeSaved::LOST);
        let mut covered = fde.initial_address();
        if let Ok(mut table) = fde.rows(&self.section, &self.bases, context) {
            while let Ok(Some(row)) = table.next_row() {
                if row.start_address() >= end {
                    break;
                }
                census.rows += 1;
                let translated =
                    translate::recipe(&self.section, fde.cie(), row).unwrap_or_else(|| {
                        census.unsupported += 1;
                        unsupported
                    });
                builder.push(self.offset(row.start_address()), translated);
                covered = row.end_address();
            }
        }
        if covered < end {
            census.damaged += 1;
            builder.push(self.offset(covered), unsupported);
        }
        end
    }

    /// Appends what holds where no FDE does: nothing, but for linkage tables without CFI.
    fn emit_gap(&self, gap: Range<u64>, builder: &mut Builder, census: &mut Census) {
        if gap.is_empty() {
            return;
        }
        builder.push(self.offset(gap.start), (Recipe::NoCfi, CalleeSaved::LOST));
        let first = gap.start.next_multiple_of(linkage::ENTRY as u64);
        let Some(length) = gap.end.checked_sub(first) else { return };
        let Some(code) = (self.segment_from)(first) else { return };
        let code = code.get(..length as usize).unwrap_or(code);
        let (entries, _) = code.as_chunks::<{ linkage::ENTRY }>();
        for (address, entry) in (first..).step_by(linkage::ENTRY).zip(entries) {
            let Some(recipes) = linkage::entry(entry) else { continue };
            census.linkage_entries += 1;
            for (offset, recipe) in recipes {
                builder
                    .push(self.offset(address) + u32::from(*offset), (*recipe, CalleeSaved::SAME));
            }
            let end = self.offset(address) + linkage::ENTRY as u32;
            builder.push(end, (Recipe::NoCfi, CalleeSaved::LOST));
        }
    }

    /// An address of the text as an offset into it.
    fn offset(&self, address: u64) -> u32 {
        (address.clamp(self.text.start, self.text.end) - self.text.start) as u32
    }
}
