//! Recipes straight from `.eh_frame`, without a [`RecipeTable`].
//!
//! SIGNAL side, but for [`InPlace::census`]. Finds the FDE by binary search in `.eh_frame_hdr` and
//! evaluates it up to the address and no further, on the stack alone. The answer is a table's.
//!
//! Two kinds of module are read in place. Those that the program was started with, since they are
//! never unloaded: a table costs 50 ns for each row of a module, of which a compiler has millions,
//! and a look-up here some 0.2 us, of which a run makes thousands. And those that nobody has looked
//! at yet, for a library's constructors run before dlopen returns.
//!
//! [`RecipeTable`]: crate::unwind::table::RecipeTable

use core::ops::Range;

use gimli::{BaseAddresses, EhFrame, EhFrameOffset, LittleEndian, UnwindSection};

use super::{BEHIND_AN_UNWINDER, Bytes, Cie, NO_CFI, Reader, UNSUPPORTED};
use crate::unwind::arch::recipe::{CalleeSaved, Recipe};
use crate::unwind::arch::{linkage, rows};
use crate::unwind::table::Lookup;

/// What a table built by [`from_header`](super::from_header) from the same arguments would answer
/// for the code at `pc`.
pub fn recipe_at<'a>(
    header: &'a [u8],
    header_address: u64,
    segment_from: impl Fn(u64) -> Option<&'a [u8]>,
    text: Range<u64>,
    pc: u64,
) -> (Recipe, CalleeSaved) {
    let found = text
        .contains(&pc)
        .then(|| InPlace::new(header, header_address, segment_from, text))
        .flatten()
        .and_then(|module| module.recipe_at(pc));
    found.unwrap_or(NO_CFI)
}

type Fde<'a> = gimli::FrameDescriptionEntry<Bytes<'a>>;

/// What holds at an address.
type Held = (Recipe, CalleeSaved);

/// `.eh_frame_hdr` up to its table (Linux Standard Base 5.0, 10.6.2): version, three encodings,
/// address of `.eh_frame`, number of FDEs.
const HEADER: usize = 12;
/// What every linker writes there: version 1; the address as 32 bits relative to itself, the number
/// as 32 bits, the table as 32 bits relative to the header.
const USUAL: [u8; 4] = [1, 0x1b, 0x03, 0x3b];

/// CIEs that are kept evaluated. Linkers merge equal ones, so that two or three are usual.
const CIES: usize = 64;

/// A module's call frame information where the linker put it.
pub struct InPlace<'a, F> {
    /// Addresses of code and of its FDE, relative to the header, ascending by code.
    entries: &'a [[u8; 8]],
    header: u64,
    /// The runtime address of `.eh_frame`.
    section: u64,
    /// From there to the end of its segment.
    bytes: &'a [u8],
    reader: Reader<'a, F>,
    /// By offset; filled by [`Self::census`].
    cies: Vec<Cie<'a>>,
}

/// What a module has besides recipes.
#[derive(Debug, Default)]
pub struct Census {
    /// As in [`Built`](super::Built).
    pub unwinders: Vec<Range<u32>>,
}

impl<'a, F: Fn(u64) -> Option<&'a [u8]>> InPlace<'a, F> {
    /// The arguments are those of [`from_header`](super::from_header).
    ///
    /// `None` for a module without the sorted table of FDEs, which linkers write unless they are
    /// told not to: reading all of `.eh_frame` has no bound.
    #[must_use]
    pub fn new(header: &'a [u8], address: u64, segment_from: F, text: Range<u64>) -> Option<Self> {
        if header.get(..4)? != USUAL || text.is_empty() {
            return None;
        }
        let section = relative(address.wrapping_add(4), header.get(4..8)?)?;
        let count = u32::from_le_bytes(header.get(8..HEADER)?.try_into().ok()?) as usize;
        let (entries, _) = header.get(HEADER..)?.as_chunks();
        let entries = entries.get(..count)?;
        let bytes = segment_from(section)?;
        let bases = BaseAddresses::default()
            .set_eh_frame_hdr(address)
            .set_text(text.start)
            .set_eh_frame(section);
        let reader =
            Reader { section: EhFrame::new(bytes, LittleEndian), bases, text, segment_from };
        Some(Self { entries, header: address, section, bytes, reader, cies: Vec::new() })
    }

    /// Looks at every FDE once, SETUP side: what they share is kept for later look-ups, and those
    /// of an unwinder are found.
    ///
    /// Few FDEs are evaluated: an unwinder's says "rax saved" and "rdx saved", one byte each
    /// (DW_CFA_offset, DWARF 5 6.4.2.3), and few others hold both bytes.
    #[must_use]
    pub fn census(&mut self) -> Census {
        const SAVES_RAX: u8 = 0x80;
        const SAVES_RDX: u8 = 0x81;
        let mut census = Census::default();
        let mut neighbors = 0;
        let mut last_cie = usize::MAX;
        let entries = self.entries;
        for entry in entries {
            let Some(offset) = self.fde_offset(entry) else { continue };
            let Some((cie, body)) = self.raw(offset) else { continue };
            if cie != last_cie {
                last_cie = cie;
                self.keep_cie(cie);
            }
            let (mut rax, mut rdx) = (false, false);
            for byte in body {
                rax |= *byte == SAVES_RAX;
                rdx |= *byte == SAVES_RDX;
            }
            let unwinds = rax && rdx && self.is_unwinder(offset);
            if unwinds {
                neighbors = BEHIND_AN_UNWINDER + 1;
            }
            if neighbors > 0
                && let Some(fde) = self.fde(offset, |fde, _| fde.clone())
                && self.reader.text.contains(&fde.initial_address())
            {
                neighbors -= 1;
                let code = fde.initial_address()..fde.end_address();
                census.unwinders.push(self.reader.offset(code.start)..self.reader.offset(code.end));
            }
        }
        census
    }

    /// Whether the function at `offset` from the start of the text may handle an exception.
    #[must_use]
    pub fn may_handle_exceptions(&self, offset: u32) -> bool {
        let pc = self.reader.text.start + u64::from(offset);
        let fde = self.nearest(pc).and_then(|at| self.fde(at, |fde, _| fde.clone()));
        fde.is_some_and(|fde| fde.contains(pc) && fde.lsda().is_some())
    }

    /// Bytes of memory it takes, besides what the linker made.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.cies.capacity() * size_of::<Cie<'_>>()
    }

    /// Offset of the CIE and bytes of the FDE at this offset.
    fn raw(&self, offset: usize) -> Option<(usize, &'a [u8])> {
        let bytes = self.bytes.get(offset..)?;
        let (length, bytes) = bytes.split_first_chunk()?;
        let body = bytes.get(..u32::from_le_bytes(*length) as usize)?;
        let (cie, body) = body.split_first_chunk()?;
        Some(((offset + 4).checked_sub(u32::from_le_bytes(*cie) as usize)?, body))
    }

    fn keep_cie(&mut self, offset: usize) {
        let Err(place) = self.cies.binary_search_by_key(&offset, |cie| cie.0) else { return };
        let (section, bases) = (&self.reader.section, &self.reader.bases);
        if self.cies.len() < CIES
            && let Ok(cie) = section.cie_from_offset(bases, EhFrameOffset(offset))
        {
            let shared = rows::Shared::new(section, bases, &cie);
            self.cies.insert(place, (offset, cie, shared));
        }
    }

    fn is_unwinder(&self, offset: usize) -> bool {
        let (section, bases) = (&self.reader.section, &self.reader.bases);
        let rows = |fde: &Fde<'a>, shared: Option<&rows::Shared>| {
            shared?.rows(section, bases, fde, |_, _| {})
        };
        self.fde(offset, rows).flatten().unwrap_or(false)
    }

    /// Reads an FDE and hands it on with what its CIE's FDEs share.
    fn fde<T>(
        &self,
        offset: usize,
        visit: impl FnOnce(&Fde<'a>, Option<&rows::Shared>) -> T,
    ) -> Option<T> {
        let (section, bases) = (&self.reader.section, &self.reader.bases);
        let fde = section.partial_fde_from_offset(bases, EhFrameOffset(offset)).ok()?;
        let cie = self.cies.binary_search_by_key(&fde.cie_offset().0, |cie| cie.0);
        if let Some((_, cie, shared)) = cie.ok().and_then(|place| self.cies.get(place)) {
            let fde = fde.parse(|_, _, _| Ok(cie.clone())).ok()?;
            return Some(visit(&fde, shared.as_ref()));
        }
        let mut cie = None;
        let fde = self.reader.fde(offset, &mut cie)?;
        Some(visit(&fde, cie.as_ref().and_then(|(_, _, shared)| shared.as_ref())))
    }

    fn recipe_at(&self, pc: u64) -> Option<Held> {
        let (section, bases) = (&self.reader.section, &self.reader.bases);
        let mut before = None;
        if let Some(offset) = self.nearest(pc) {
            let held = self.fde(offset, |fde, shared| {
                if !fde.contains(pc) {
                    before = Some(fde.end_address());
                    return None;
                }
                let row = shared.and_then(|shared| shared.row_at(section, bases, fde, pc));
                Some(row.unwrap_or(UNSUPPORTED))
            });
            if let Some(held) = held.flatten() {
                return Some(held);
            }
        }
        self.startup_function(before, pc).or_else(|| self.linkage_entry(pc))
    }

    /// The offset in `.eh_frame` of the last FDE whose code begins at or before `pc`; of the first
    /// one if there is none.
    fn nearest(&self, pc: u64) -> Option<usize> {
        let distance = pc.wrapping_sub(self.header) as i64;
        let after = self.entries.partition_point(|entry| code_of(entry) <= distance);
        self.fde_offset(self.entries.get(after.saturating_sub(1))?)
    }

    fn fde_offset(&self, entry: &[u8; 8]) -> Option<usize> {
        Some(relative(self.header, &entry[4..])?.wrapping_sub(self.section) as usize)
    }

    /// What holds in `_init` or `_fini` without CFI, if `pc` lies in one at the begin of the gap
    /// behind the FDE that is nearest to it.
    fn startup_function(&self, before: Option<u64>, pc: u64) -> Option<Held> {
        let before = before.filter(|end| *end <= pc);
        let gap = before.unwrap_or(self.reader.text.start)..self.reader.text.end;
        let (start, function) = self.reader.startup_function(&gap)?;
        let offset =
            u8::try_from(pc.checked_sub(start)?).ok().filter(|at| *at < function.length())?;
        let held = function.recipes().into_iter().rfind(|(from, _)| *from <= offset)?;
        Some((held.1, CalleeSaved::SAME))
    }

    /// What holds in an entry of a linkage table without CFI.
    fn linkage_entry(&self, pc: u64) -> Option<Held> {
        let start = pc - pc % linkage::ENTRY as u64;
        let end = start + linkage::ENTRY as u64;
        let covered = self
            .nearest(end - 1)
            .and_then(|offset| {
                self.fde(offset, |fde, _| (fde.initial_address(), fde.end_address()))
            })
            .is_some_and(|(first, past)| first < end && past > start);
        if covered || start < self.reader.text.start || end > self.reader.text.end {
            return None;
        }
        let code = (self.reader.segment_from)(start)?.first_chunk()?;
        let recipes = linkage::entry(code)?;
        let held = recipes.iter().rev().find(|(offset, _)| start + u64::from(*offset) <= pc)?;
        Some((held.1, CalleeSaved::SAME))
    }
}

impl<'a, F: Fn(u64) -> Option<&'a [u8]>> Lookup for InPlace<'a, F> {
    fn lookup(&self, offset: u32) -> Recipe {
        self.lookup_all(offset).0
    }

    fn lookup_all(&self, offset: u32) -> Held {
        let pc = self.reader.text.start + u64::from(offset);
        let found = self.reader.text.contains(&pc).then(|| self.recipe_at(pc)).flatten();
        found.unwrap_or(NO_CFI)
    }
}

/// Where the code of an entry begins, relative to the header.
fn code_of(entry: &[u8; 8]) -> i64 {
    let [a, b, c, d, ..] = *entry;
    i32::from_le_bytes([a, b, c, d]).into()
}

/// The address that a 32-bit distance from `base` means.
fn relative(base: u64, distance: &[u8]) -> Option<u64> {
    let distance = i32::from_le_bytes(distance.try_into().ok()?);
    Some(base.wrapping_add_signed(distance.into()))
}
