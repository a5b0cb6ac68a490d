//! Recipes straight from `.eh_frame`, without a [`RecipeTable`].
//!
//! SIGNAL side, but for [`InPlace::census`] and [`InPlace::note_gaps`]. Finds the FDE in the sorted
//! table of `.eh_frame_hdr` and evaluates it up to the address and no further, on the stack alone.
//! The answer is a table's, but for what has no FDE between two functions that are close together,
//! or in the middle of a gap of megabytes: a table and a copy do not know it.
//!
//! Two kinds of module are read in place. Those that the program was started with, since they are
//! never unloaded: a table costs 50 ns for each row of a module, of which a compiler has millions,
//! and a look-up here some 0.1 us, of which a run makes thousands. And those that nobody has looked
//! at yet, for a library's constructors run before dlopen returns.
//!
//! Any other module may be unloaded under a handler, and is read in the same way in a copy of its
//! `.eh_frame_hdr` and `.eh_frame`: all addresses are those of the first load, and the answers are
//! by offset. Code without an FDE is told by its bytes, of which there is no copy, so these are
//! [looked at](InPlace::note_gaps) when the copy is made.
//!
//! Unlike code, these sections are read directly. That they can be is known of the moment when the
//! module was first looked at: the loader has mapped it readable, and it stays. Later it is
//! assumed: nothing but this and unwinders has a use for these pages, and a program that forbids
//! them, or cuts the file off, breaks its own exceptions, cancellation of threads and backtrace(3).
//! Such a program ends here by a fault, unless there is a copy. To have the kernel read would take
//! three system calls for each look-up.
//!
//! The handler comes seldom, so what it reads is not in the processor's caches, and each word costs
//! more than the search among a hundred of them. A binary search in the table of a large module
//! touches ten lines that nobody else does. So the census notes, for each 4 KB of text, where in
//! the table they begin: one line there and one or two of the table are left.
//!
//! [`RecipeTable`]: crate::unwind::table::RecipeTable

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::ops::Range;

use super::{BEHIND_AN_UNWINDER, Known, NO_CFI, Reader, UNSUPPORTED};
use crate::arch::unwind::recipe::{CalleeSaved, Recipe};
use crate::arch::unwind::{linkage, rows};
use crate::eh_frame::{self, Fde};
use crate::unwind::table::{Builder, Lookup};

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
    found.map_or(NO_CFI, |(recipe, saved, _)| (recipe, saved))
}

/// What holds at an address, and at addresses around it in the same function.
type Held = (Recipe, CalleeSaved, Range<u64>);

/// `.eh_frame_hdr` up to its table (Linux Standard Base 5.0, 10.6.2): version, three encodings,
/// address of `.eh_frame`, number of FDEs.
const HEADER: usize = 12;
/// What every linker writes there: version 1; the address as 32 bits relative to itself, the number
/// as 32 bits, the table as 32 bits relative to the header.
const USUAL: [u8; 4] = [1, 0x1b, 0x03, 0x3b];

/// CIEs that are kept evaluated. Linkers merge equal ones, so that two or three are usual.
const CIES: usize = 64;

/// Text is divided into blocks of 4 KB for the index: some 20 FDEs each.
const BLOCK_BITS: u32 = 12;

/// A module's call frame information where the linker put it.
pub struct InPlace<'a, F> {
    /// Addresses of code and of its FDE, relative to the header, ascending by code.
    entries: &'a [[u8; 8]],
    header: u64,
    reader: Reader<'a, F>,
    /// For each block of text the number of entries that begin before it; filled by
    /// [`Self::census`].
    index: Vec<u32>,
    /// By offset; filled by [`Self::census`].
    cies: Vec<Known<'a>>,
    /// The recipes of code without an FDE by the offsets at which they begin to hold; where there
    /// are none, the code is looked at. Filled by [`Self::note_gaps`].
    gaps: Box<[(u32, Recipe)]>,
}

/// How many FDEs are looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Look {
    /// Each, for the module may have an unwinder of its own.
    AtEach,
    /// Some, for what they share. What is missed thereby is evaluated when it is needed.
    AtSome,
}

/// How many are some.
const SOME: usize = 64;

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
        let section = section_address(header, address)?;
        let count = u32::from_le_bytes(header.get(8..HEADER)?.try_into().ok()?) as usize;
        let (entries, _) = header.get(HEADER..)?.as_chunks();
        let entries = entries.get(..count)?;
        let bytes = segment_from(section)?;
        let reader = Reader { section: bytes, address: section, text, segment_from };
        let (index, cies, gaps) = (Vec::new(), Vec::new(), Box::default());
        Some(Self { entries, header: address, reader, index, cies, gaps })
    }

    /// The address of `.eh_frame`, and how many bytes of the header and of it are read. `None` if
    /// the table is not in order, or there is more text than offsets can express.
    #[must_use]
    pub fn extent(&self) -> Option<(u64, usize, usize)> {
        let section = self.reader.section;
        let is_usual = self.entries.is_sorted_by_key(code_of) && self.reader.length().is_ok();
        let places = self.entries.iter().filter_map(|entry| self.fde_offset(entry));
        let last = places.filter(|place| *place < section.len()).max();
        let end = last.and_then(|last| last.checked_add(eh_frame::size(section, last)?));
        let bytes = end.unwrap_or(0).min(section.len());
        is_usual.then_some((self.reader.address, HEADER + size_of_val(self.entries), bytes))
    }

    /// Goes through all FDEs once, SETUP side, for what lies between them. `segment_from` gives the
    /// bytes of the code, which is looked at no more afterwards.
    pub fn note_gaps(&mut self, segment_from: impl Fn(u64) -> Option<&'a [u8]>) {
        let Reader { section, address, ref text, .. } = self.reader;
        let reader = Reader { section, address, text: text.clone(), segment_from };
        let Ok(length) = reader.length() else { return };
        let (mut gaps, mut met) = (Builder::new(length), super::Census::default());
        let (mut covered, mut last_cie) = (reader.text.start, usize::MAX);
        for entry in self.entries {
            let start = self.header.wrapping_add_signed(code_of(entry));
            if !reader.text.contains(&start) {
                continue;
            }
            let Some(offset) = self.fde_offset(entry) else { continue };
            let Some((cie, _)) = eh_frame::split(section, offset) else { continue };
            if cie != last_cie {
                last_cie = cie;
                self.keep_cie(cie);
            }
            let code = self.fde(offset, |fde, _| fde.code.clone());
            if let Some(code) = code.filter(|code| code.start == start && !code.is_empty()) {
                reader.emit_gap(covered..start, &mut gaps, &mut met);
                covered = code.end.min(reader.text.end);
            }
        }
        reader.emit_gap(covered..reader.text.end, &mut gaps, &mut met);
        self.gaps = gaps.into_rows();
    }

    /// Goes through the table of FDEs once, SETUP side: notes where each block of text begins in
    /// it, evaluates what FDEs share, and finds the FDEs of an unwinder, if it looks at each.
    ///
    /// A compiler's libraries have 20 MB of FDEs and more. So they are looked at no closer than
    /// needed: an unwinder's says "rax saved" and "rdx saved", one byte each (DW_CFA_offset, DWARF
    /// 5 6.4.2.3), and few others hold both bytes.
    #[must_use]
    pub fn census(&mut self, look: Look) -> Census {
        const SAVES_RAX: u8 = 0x80;
        const SAVES_RDX: u8 = 0x81;
        /// What comes before the instructions: two pointers of four bytes or more.
        const POINTERS: usize = 8;
        let mut census = Census::default();
        let mut neighbors = 0;
        let mut last_cie = usize::MAX;
        let entries = self.entries;
        let stride = match look {
            Look::AtEach => 1,
            Look::AtSome => (entries.len() / SOME).max(1),
        };
        self.index = self.index_of_text();
        for entry in entries.iter().step_by(stride) {
            let Some(offset) = self.fde_offset(entry) else { continue };
            let Some((cie, body)) = eh_frame::split(self.reader.section, offset) else { continue };
            if cie != last_cie {
                last_cie = cie;
                self.keep_cie(cie);
            }
            let instructions = body.get(POINTERS..).unwrap_or_default();
            let unwinds = look == Look::AtEach
                && holds(instructions, SAVES_RDX)
                && holds(instructions, SAVES_RAX)
                && self.is_unwinder(offset);
            if unwinds {
                neighbors = BEHIND_AN_UNWINDER + 1;
            }
            if neighbors > 0
                && let Some(Fde { code, .. }) = self.fde(offset, |fde, _| fde.clone())
                && self.reader.text.contains(&code.start)
            {
                neighbors -= 1;
                census.unwinders.push(self.reader.offset(code.start)..self.reader.offset(code.end));
            }
        }
        census
    }

    /// For each block of text the number of entries that begin before it.
    fn index_of_text(&self) -> Vec<u32> {
        let text = &self.reader.text;
        let blocks = (text.end - text.start).div_ceil(1 << BLOCK_BITS) as usize;
        let mut index = Vec::with_capacity(blocks + 1);
        for (number, entry) in (0..).zip(self.entries) {
            let begin = self.header.wrapping_add_signed(code_of(entry));
            let block = (begin.saturating_sub(text.start) >> BLOCK_BITS) as usize;
            if block >= index.len() {
                index.resize(block.min(blocks) + 1, number);
            }
        }
        index.resize(blocks + 1, self.entries.len() as u32);
        index
    }

    /// Whether the function at `offset` from the start of the text may handle an exception.
    #[must_use]
    pub fn may_handle_exceptions(&self, offset: u32) -> bool {
        let pc = self.reader.text.start + u64::from(offset);
        let may = |fde: &Fde<'a>, _: Option<&_>| fde.code.contains(&pc) && fde.has_data_area;
        self.nearest(pc).and_then(|at| self.fde(at, may)).unwrap_or(false)
    }

    /// Bytes of memory it takes, besides what the linker made.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.cies.capacity() * size_of::<Known<'_>>()
            + self.index.capacity() * size_of::<u32>()
            + size_of_val(&*self.gaps)
    }

    fn keep_cie(&mut self, offset: usize) {
        let Err(place) = self.cies.binary_search_by_key(&offset, |known| known.offset) else {
            return;
        };
        if self.cies.len() < CIES
            && let Some(known) = Known::at(self.reader.section, offset)
        {
            self.cies.insert(place, known);
        }
    }

    fn is_unwinder(&self, offset: usize) -> bool {
        let rows = |fde: &Fde<'a>, shared: Option<&rows::Shared<'a>>| shared?.rows(fde, |_, _| {});
        self.fde(offset, rows).flatten().unwrap_or(false)
    }

    /// Reads an FDE and hands it on with what its CIE's FDEs share.
    #[inline]
    fn fde<T>(
        &self,
        offset: usize,
        visit: impl FnOnce(&Fde<'a>, Option<&rows::Shared<'a>>) -> T,
    ) -> Option<T> {
        let section = self.reader.section;
        let (cie, body) = eh_frame::split(section, offset)?;
        let place = self.reader.address_of_body(offset);
        let read;
        let known = match self.cies.binary_search_by_key(&cie, |known| known.offset) {
            Ok(at) => self.cies.get(at)?,
            Err(_) => {
                read = Known::at(section, cie)?;
                &read
            }
        };
        Some(visit(&known.cie.fde(body, place)?, known.shared.as_ref()))
    }

    fn held_at(&self, offset: u32) -> Held {
        let pc = self.reader.text.start + u64::from(offset);
        let found = self.reader.text.contains(&pc).then(|| self.recipe_at(pc)).flatten();
        found.unwrap_or((NO_CFI.0, NO_CFI.1, pc..pc + 1))
    }

    fn recipe_at(&self, pc: u64) -> Option<Held> {
        let mut before = None;
        if let Some(offset) = self.nearest(pc) {
            let held = self.fde(offset, |fde, shared| {
                if !fde.code.contains(&pc) {
                    before = Some(fde.code.end);
                    return None;
                }
                let row = shared.map(|shared| shared.row_at(fde, pc));
                let (found, addresses) = row.unwrap_or((None, pc..pc + 1));
                let (recipe, saved) = found.unwrap_or(UNSUPPORTED);
                Some((recipe, saved, addresses))
            });
            if let Some(held) = held.flatten() {
                return Some(held);
            }
        }
        if self.gaps.is_empty() {
            return self.startup_function(before, pc).or_else(|| self.linkage_entry(pc));
        }
        let offset = self.reader.offset(pc);
        let after = self.gaps.partition_point(|(from, _)| *from <= offset);
        let (_, recipe) = *self.gaps.get(after.checked_sub(1)?)?;
        (recipe != Recipe::NoCfi).then_some((recipe, CalleeSaved::SAME, pc..pc + 1))
    }

    /// The offset in `.eh_frame` of the last FDE whose code begins at or before `pc`; of the first
    /// one if there is none.
    fn nearest(&self, pc: u64) -> Option<usize> {
        let distance = pc.wrapping_sub(self.header) as i64;
        let block = (pc.wrapping_sub(self.reader.text.start) >> BLOCK_BITS) as usize;
        let (first, end) = match self.index.get(block..).unwrap_or_default() {
            [first, end, ..] => (*first as usize, *end as usize),
            _ => (0, self.entries.len()),
        };
        let of_block = self.entries.get(first..end)?;
        let after = first + of_block.partition_point(|entry| code_of(entry) <= distance);
        self.fde_offset(self.entries.get(after.saturating_sub(1))?)
    }

    fn fde_offset(&self, entry: &[u8; 8]) -> Option<usize> {
        Some(relative(self.header, &entry[4..])?.wrapping_sub(self.reader.address) as usize)
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
        Some((held.1, CalleeSaved::SAME, pc..pc + 1))
    }

    /// What holds in an entry of a linkage table without CFI.
    fn linkage_entry(&self, pc: u64) -> Option<Held> {
        let start = pc - pc % linkage::ENTRY as u64;
        let end = start + linkage::ENTRY as u64;
        let covered = self
            .nearest(end - 1)
            .and_then(|offset| self.fde(offset, |fde, _| fde.code.clone()))
            .is_some_and(|code| code.start < end && code.end > start);
        if covered || start < self.reader.text.start || end > self.reader.text.end {
            return None;
        }
        let code = (self.reader.segment_from)(start)?.first_chunk()?;
        let recipes = linkage::entry(code)?;
        let held = recipes.iter().rev().find(|(offset, _)| start + u64::from(*offset) <= pc)?;
        Some((held.1, CalleeSaved::SAME, pc..pc + 1))
    }
}

impl<'a, F: Fn(u64) -> Option<&'a [u8]>> Lookup for InPlace<'a, F> {
    fn lookup(&self, offset: u32) -> (Recipe, Range<u32>) {
        let (recipe, _, addresses) = self.held_at(offset);
        (recipe, self.reader.offset(addresses.start)..self.reader.offset(addresses.end))
    }

    fn lookup_all(&self, offset: u32) -> (Recipe, CalleeSaved) {
        let (recipe, saved, _) = self.held_at(offset);
        (recipe, saved)
    }
}

/// The address of `.eh_frame`, by its header at `address`.
#[must_use]
pub fn section_address(header: &[u8], address: u64) -> Option<u64> {
    let is_usual = header.get(..2)? == &USUAL[..2];
    is_usual.then(|| relative(address.wrapping_add(4), header.get(4..8)?)).flatten()
}

/// Whether one of the bytes is this one; eight at a time.
fn holds(bytes: &[u8], wanted: u8) -> bool {
    const ONES: u64 = u64::MAX / 255;
    let (words, rest) = bytes.as_chunks();
    // A byte that is zero borrows from its own highest bit, which it had not set.
    let has_zero = |word: u64| word.wrapping_sub(ONES) & !word & (ONES << 7) != 0;
    words.iter().any(|word| has_zero(u64::from_le_bytes(*word) ^ (ONES * u64::from(wanted))))
        || rest.contains(&wanted)
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
