//! From a module's `.eh_frame` to its [`RecipeTable`].
//!
//! SETUP side: allocates, and is never called in a handler; only [`direct`] is, by which nearly all
//! modules are read. A table is for those whose FDEs the linker has not sorted; and it is evaluated
//! whole, so that tests hold both against each other. At run time only program headers are at hand,
//! so that it is built from `PT_GNU_EH_FRAME` alone. The sections are untrusted bytes: what
//! cannot be read becomes [`Recipe::Unsupported`] for the addresses concerned, and is counted.

use alloc::vec::Vec;
pub mod direct;

use core::ops::Range;

use gimli::{BaseAddresses, CieOrFde, EhFrame, EhFrameHdr, LittleEndian, UnwindSection};

use crate::eh_frame::{self, Cie, Fde};

use super::table::{Builder, RecipeTable};
use crate::arch::unwind::recipe::{CalleeSaved, Recipe};
use crate::arch::unwind::{linkage, rows, startup};

/// A table and what was met while it was built.
#[derive(Debug)]
pub struct Built {
    /// The recipes, by offset from the start of the text range.
    pub table: RecipeTable,
    /// What was met.
    pub census: Census,
    /// Code of an unwinder, by offset: functions that leave by `__builtin_eh_return`. Found by
    /// what they save, so a stripped program with a static unwinder has them too. And the two
    /// functions behind each: in libgcc's unwind.inc, the last of them is followed by
    /// `_Unwind_DeleteException` and `_Unwind_Backtrace`.
    pub unwinders: Vec<Range<u32>>,
    /// Code with a language-specific data area, by offset, ascending: frames in which an exception
    /// may be handled.
    pub handlers: Vec<Range<u32>>,
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
    /// `_init` and `_fini`, which no FDE covers, recognized by their bytes.
    pub startup_functions: u64,
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

impl core::fmt::Display for CfiError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::TextRange => write!(f, "the text range is empty or larger than 4 GB"),
            Self::Header(error) => write!(f, ".eh_frame_hdr cannot be read: {error}"),
            Self::SectionNotMapped => write!(f, ".eh_frame_hdr points outside the module"),
            Self::Entries(error) => write!(f, ".eh_frame cannot be read: {error}"),
        }
    }
}

impl core::error::Error for CfiError {}

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
    let Some(table) = parsed.table() else {
        return from_section(bytes, address, segment_from, text);
    };

    let mut entries = Vec::new();
    for entry in table.iter(&bases) {
        let (code, fde) = entry.map_err(CfiError::Header)?;
        let code = code.direct().map_err(CfiError::Header)?;
        let fde = fde.direct().map_err(CfiError::Header)?;
        entries.push((code, fde.wrapping_sub(address) as usize));
    }
    Reader { section: bytes, address, text, segment_from }.build(entries)
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
    let reader = Reader { section: bytes, address, text, segment_from };
    let mut entries = Vec::new();
    let mut cie = None;
    let mut section_entries = section.entries(&bases);
    while let Some(entry) = section_entries.next().map_err(CfiError::Entries)? {
        let CieOrFde::Fde(fde) = entry else { continue };
        if let Some(read) = reader.fde(fde.offset(), &mut cie) {
            entries.push((read.code.start, fde.offset()));
        }
    }
    reader.build(entries)
}

struct Reader<'a, F> {
    /// The bytes of `.eh_frame`, or more.
    section: &'a [u8],
    /// Its address, in the address space of `text`.
    address: u64,
    text: Range<u64>,
    segment_from: F,
}

/// An FDE before it is read: the address of its code, and its own offset in the section.
type CfiEntry = (u64, usize);

/// A CIE, and what its instructions say; none if they cannot be read.
struct Known<'a> {
    /// Where it is in the section.
    offset: usize,
    cie: Cie<'a>,
    shared: Option<rows::Shared<'a>>,
}

impl<'a> Known<'a> {
    fn at(section: &'a [u8], offset: usize) -> Option<Self> {
        let cie = Cie::at(section, offset)?;
        let shared = rows::Shared::new(&cie);
        Some(Self { offset, cie, shared })
    }
}

/// How many functions behind one that leaves by `__builtin_eh_return` are taken for an unwinder's.
const BEHIND_AN_UNWINDER: u32 = 2;

/// Of a long gap, so many bytes are looked at from its begin on and before its end: linkage tables
/// lie beside the functions. What some linkers put into the segment of code, as constants, is long.
const SEARCHED: u64 = 1 << 20;

const NO_CFI: (Recipe, CalleeSaved) = (Recipe::NoCfi, CalleeSaved::LOST);
const UNSUPPORTED: (Recipe, CalleeSaved) = (Recipe::Unsupported, CalleeSaved::LOST);

impl<'a, F: Fn(u64) -> Option<&'a [u8]>> Reader<'a, F> {
    fn build(self, mut entries: Vec<CfiEntry>) -> Result<Built, CfiError> {
        let length = self.length()?;
        // Linkers sort the table; only what is read from the section itself may be in any order.
        if !entries.is_sorted() {
            entries.sort_unstable();
        }
        let mut census = Census::default();
        let mut builder = Builder::new(length);
        let mut cie = None;
        let mut covered = self.text.start;
        let mut unwinders = Vec::new();
        let mut neighbors = 0;
        let mut handlers = Vec::new();
        for (start, offset) in entries {
            if !self.text.contains(&start) {
                continue;
            }
            let Some(fde) = self.fde(offset, &mut cie).filter(|fde| fde.code.start == start) else {
                census.damaged += 1;
                continue;
            };
            if fde.code.is_empty() {
                continue;
            }
            census.fdes += 1;
            self.emit_gap(covered..start, &mut builder, &mut census);
            let shared = cie.as_ref().and_then(|known| known.shared.as_ref());
            let code = self.offset(start)..self.offset(fde.code.end);
            if fde.has_data_area {
                handlers.push(code.clone());
            }
            if self.emit(&fde, shared, &mut builder, &mut census) {
                neighbors = BEHIND_AN_UNWINDER;
                unwinders.push(code);
            } else if neighbors > 0 {
                neighbors -= 1;
                unwinders.push(code);
            }
            covered = fde.code.end.min(self.text.end);
        }
        self.emit_gap(covered..self.text.end, &mut builder, &mut census);
        Ok(Built { table: builder.finish(), census, unwinders, handlers })
    }

    /// Bytes of text.
    fn length(&self) -> Result<u32, CfiError> {
        let length = self.text.end.checked_sub(self.text.start).filter(|length| *length > 0);
        length.and_then(|length| u32::try_from(length).ok()).ok_or(CfiError::TextRange)
    }

    /// Reads an FDE; afterwards `known` is its CIE.
    fn fde(&self, offset: usize, known: &mut Option<Known<'a>>) -> Option<Fde<'a>> {
        let (cie, body) = eh_frame::split(self.section, offset)?;
        if known.as_ref().is_none_or(|known| known.offset != cie) {
            *known = Some(Known::at(self.section, cie)?);
        }
        known.as_ref()?.cie.fde(body, self.address_of_body(offset))
    }

    /// The address of what [`eh_frame::split`] leaves of the FDE at this offset.
    const fn address_of_body(&self, offset: usize) -> u64 {
        self.address.wrapping_add(offset as u64).wrapping_add(8)
    }

    /// Appends the rows of one FDE; whether it is an unwinder's.
    fn emit(
        &self,
        fde: &Fde<'a>,
        shared: Option<&rows::Shared<'a>>,
        builder: &mut Builder,
        census: &mut Census,
    ) -> bool {
        let end = fde.code.end.min(self.text.end);
        // FDEs should not overlap; if they do, the one that begins later holds.
        builder.cut(self.offset(fde.code.start));
        let rows = shared.and_then(|shared| {
            shared.rows(fde, |address, found| {
                if address >= end {
                    return;
                }
                census.rows += 1;
                census.unsupported += u64::from(found.is_none());
                builder.push(self.offset(address), found.unwrap_or(UNSUPPORTED));
            })
        });
        if rows.is_none() {
            census.damaged += 1;
        }
        if shared.is_none() {
            builder.push(self.offset(fde.code.start), UNSUPPORTED);
        }
        builder.push(self.offset(end), NO_CFI);
        rows.unwrap_or(false)
    }

    /// Appends what holds where no FDE does: nothing, but for linkage tables and start files
    /// without CFI.
    ///
    /// Behind most functions are some bytes up to where the next is aligned. To look at these would
    /// bring all of the code into memory. A linkage table has a header and entries; start files are
    /// at the begin or the end of the text, or beside one.
    fn emit_gap(&self, mut gap: Range<u64>, builder: &mut Builder, census: &mut Census) {
        let is_inside = self.text.start < gap.start && gap.end < self.text.end;
        if gap.is_empty() || is_inside && gap.end - gap.start < 2 * linkage::ENTRY as u64 {
            return;
        }
        if let Some((start, function)) = self.startup_function(&gap) {
            census.startup_functions += 1;
            for (offset, recipe) in function.recipes() {
                builder.push(self.offset(start) + u32::from(offset), (recipe, CalleeSaved::SAME));
            }
            gap.start = start + u64::from(function.length());
            builder.push(self.offset(gap.start), NO_CFI);
        }
        if gap.end.saturating_sub(gap.start) > 2 * SEARCHED {
            self.emit_linkage(&(gap.start..gap.start + SEARCHED), builder, census);
            gap.start = gap.end - SEARCHED;
        }
        self.emit_linkage(&gap, builder, census);
    }

    /// Appends the entries of linkage tables that a stretch of code has.
    fn emit_linkage(&self, code: &Range<u64>, builder: &mut Builder, census: &mut Census) {
        let first = code.start.next_multiple_of(linkage::ENTRY as u64);
        let length = code.end.saturating_sub(first);
        if length < linkage::ENTRY as u64 {
            return;
        }
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
            builder.push(end, NO_CFI);
        }
    }

    /// The address and the recipes of `_init` or `_fini`, if the gap begins with one.
    fn startup_function(&self, gap: &Range<u64>) -> Option<(u64, startup::Function)> {
        let start = gap.start.next_multiple_of(startup::ALIGN);
        let code = (self.segment_from)(start)?;
        let room = usize::try_from(gap.end.checked_sub(start)?).ok()?;
        let function = startup::Function::at(code.get(..room).unwrap_or(code))?;
        Some((start, function))
    }

    /// An address of the text as an offset into it.
    fn offset(&self, address: u64) -> u32 {
        // Not `clamp`, which panics where the second bound is the lower one.
        address.min(self.text.end).saturating_sub(self.text.start) as u32
    }
}

#[cfg(test)]
mod tests;
