//! Where functions begin and end in a file that does not name them.
//!
//! A stripped program still has `.eh_frame`, and compilers write one frame description entry (FDE)
//! for each function (psABI x86-64, 4.2.4). Its first address serves as a name,
//! `libfoo.so.1+0x4a30`, so that all samples of one function become one row, where there would
//! otherwise be one row for each sampled address. The split-off cold part of a function has an
//! entry of its own; [`machine`](super::machine) finds from the code which function it is part of.

use core::ops::Range;

use gimli::{
    BaseAddresses, CieOrFde, EhFrame, EndianSlice, LittleEndian, Pointer, UnwindSection as _,
};

use super::elf::Elf;

/// The functions of a file that has call frame information.
#[derive(Debug, Default)]
pub(super) struct Extents {
    /// Ordered by address.
    extents: Vec<Extent>,
}

/// A function, or a part of one that a compiler split off. It ends where the next one begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Extent {
    /// ELF virtual addresses.
    pub(super) range: Range<u64>,
    /// Address of its language-specific data area, which says where exceptions go on.
    pub(super) lsda: Option<u64>,
}

impl Extents {
    /// Reads the ranges of all entries; those before a malformed entry where there is one.
    pub(super) fn read(elf: &Elf<'_>) -> Self {
        let address = |name| elf.section(name).ok().flatten().map_or(0, |s| s.address);
        let Ok(Some(section)) = elf.section(".eh_frame") else { return Self::default() };
        let bases = BaseAddresses::default()
            .set_eh_frame(section.address)
            .set_text(address(".text"))
            .set_got(address(".got"));
        Self::from_eh_frame(&section.bytes, &bases)
    }

    fn from_eh_frame(bytes: &[u8], bases: &BaseAddresses) -> Self {
        let mut eh_frame = EhFrame::from(EndianSlice::new(bytes, LittleEndian));
        eh_frame.set_address_size(8);
        let mut extents = Vec::new();
        let mut entries = eh_frame.entries(bases);
        while let Ok(Some(entry)) = entries.next() {
            let CieOrFde::Fde(partial) = entry else { continue };
            let Ok(fde) = partial.parse(EhFrame::cie_from_offset) else { continue };
            let start = fde.initial_address();
            // Linkers leave entries of discarded functions behind, with address 0.
            if start != 0 && fde.len() != 0 {
                let range = start..start.saturating_add(fde.len());
                let lsda = match fde.lsda() {
                    Some(Pointer::Direct(lsda)) if lsda != 0 => Some(lsda),
                    _ => None,
                };
                extents.push(Extent { range, lsda });
            }
        }
        extents.sort_unstable_by_key(|extent: &Extent| (extent.range.start, extent.range.end));
        // In a damaged file they may overlap; of those that begin at one place the longest counts.
        extents.dedup_by(|longer, kept| {
            let is_same = longer.range.start == kept.range.start;
            if is_same {
                std::mem::swap(longer, kept);
            }
            is_same
        });
        let starts: Vec<u64> = extents.iter().skip(1).map(|extent| extent.range.start).collect();
        for (extent, next) in extents.iter_mut().zip(starts) {
            extent.range.end = extent.range.end.min(next);
        }
        Self { extents }
    }

    /// The function that holds an address.
    pub(super) fn find(&self, address: u64) -> Option<&Extent> {
        let after = self.extents.partition_point(|extent| extent.range.start <= address);
        self.extents[..after].last().filter(|extent| extent.range.contains(&address))
    }
}
