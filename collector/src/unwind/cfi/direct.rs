//! One recipe straight from `.eh_frame`, without a [`RecipeTable`].
//!
//! SIGNAL side. For code whose module nobody has looked at yet: a library's constructors run
//! before dlopen returns. Finds the FDE by binary search in `.eh_frame_hdr`, evaluates it up to the
//! address and no further, on the stack alone. The answer is a table's, at about 0.3 us.
//!
//! [`RecipeTable`]: crate::unwind::table::RecipeTable

use core::ops::Range;

use gimli::{BaseAddresses, EhFrame, EhFrameHdr, LittleEndian};

use super::{Bytes, NO_CFI, Reader, UNSUPPORTED};
use crate::unwind::arch::linkage;
use crate::unwind::arch::recipe::{CalleeSaved, Recipe};

/// What a table built by [`from_header`](super::from_header) from the same arguments would answer
/// for the code at `pc`.
///
/// A module without the sorted table of FDEs, which linkers write unless they are told not to, is
/// one without call frame information here: reading all of `.eh_frame` has no bound.
pub fn recipe_at<'a>(
    header: &'a [u8],
    header_address: u64,
    segment_from: impl Fn(u64) -> Option<&'a [u8]>,
    text: Range<u64>,
    pc: u64,
) -> (Recipe, CalleeSaved) {
    let found = text
        .contains(&pc)
        .then(|| Search::new(header, header_address, segment_from, text))
        .flatten()
        .and_then(|search| search.recipe_at(pc));
    found.unwrap_or(NO_CFI)
}

type Fde<'a> = gimli::FrameDescriptionEntry<Bytes<'a>>;

/// What holds at an address.
type Held = (Recipe, CalleeSaved);

/// A module's sorted table of FDEs, and what it leads to.
struct Search<'a, F> {
    header: gimli::ParsedEhFrameHdr<Bytes<'a>>,
    /// The runtime address of `.eh_frame`.
    section: u64,
    reader: Reader<'a, F>,
}

impl<'a, F: Fn(u64) -> Option<&'a [u8]>> Search<'a, F> {
    fn new(header: &'a [u8], address: u64, segment_from: F, text: Range<u64>) -> Option<Self> {
        let bases = BaseAddresses::default().set_eh_frame_hdr(address).set_text(text.start);
        let header = EhFrameHdr::new(header, LittleEndian).parse(&bases, 8).ok()?;
        let section = header.eh_frame_ptr().direct().ok()?;
        let bytes = segment_from(section)?;
        let bases = bases.set_eh_frame(section);
        let reader =
            Reader { section: EhFrame::new(bytes, LittleEndian), bases, text, segment_from };
        Some(Self { header, section, reader })
    }

    fn recipe_at(&self, pc: u64) -> Option<Held> {
        let mut cie = None;
        let bases = &self.reader.bases;
        let fde = self.nearest(pc).and_then(|offset| self.reader.fde(offset, &mut cie));
        let Some(fde) = fde.as_ref().filter(|fde| fde.contains(pc)) else {
            return self.startup_function(fde.as_ref(), pc).or_else(|| self.linkage_entry(pc));
        };
        let shared = cie.as_ref().and_then(|(_, _, shared)| shared.as_ref());
        let row = shared.and_then(|shared| shared.row_at(&self.reader.section, bases, fde, pc));
        Some(row.unwrap_or(UNSUPPORTED))
    }

    /// The offset in `.eh_frame` of the last FDE whose code begins at or before `pc`; of the first
    /// one if there is none.
    fn nearest(&self, pc: u64) -> Option<usize> {
        let found = self.header.table()?.lookup(pc, &self.reader.bases).ok()?;
        Some(found.direct().ok()?.wrapping_sub(self.section) as usize)
    }

    /// What holds in `_init` or `_fini` without CFI, if `pc` lies in one at the begin of the gap
    /// behind the FDE that is nearest to it.
    fn startup_function(&self, nearest: Option<&Fde<'a>>, pc: u64) -> Option<Held> {
        let before = nearest.map(|fde| fde.end_address()).filter(|end| *end <= pc);
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
            .and_then(|offset| self.reader.fde(offset, &mut None))
            .is_some_and(|fde| fde.initial_address() < end && fde.end_address() > start);
        if covered || start < self.reader.text.start || end > self.reader.text.end {
            return None;
        }
        let code = (self.reader.segment_from)(start)?.first_chunk()?;
        let recipes = linkage::entry(code)?;
        let held = recipes.iter().rev().find(|(offset, _)| start + u64::from(*offset) <= pc)?;
        Some((held.1, CalleeSaved::SAME))
    }
}
