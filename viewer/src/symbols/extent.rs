//! Where functions begin and end in a file that does not name them.
//!
//! A stripped program still has `.eh_frame`, and compilers write one frame description entry (FDE)
//! for each function (psABI x86-64, 4.2.4). Its first address serves as a name,
//! `libfoo.so.1+0x4a30`, so that all samples of one function become one row, where there would
//! otherwise be one row for each sampled address. The split-off cold part of a function has an
//! entry of its own and stays apart.

use core::ops::Range;

use gimli::{BaseAddresses, CieOrFde, EhFrame, EndianSlice, LittleEndian, UnwindSection as _};

use super::elf::Elf;

/// Address ranges of the functions of a file that has call frame information.
#[derive(Debug, Default)]
pub(super) struct Extents {
    ranges: Vec<Range<u64>>,
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
        let mut ranges = Vec::new();
        let mut entries = eh_frame.entries(bases);
        while let Ok(Some(entry)) = entries.next() {
            let CieOrFde::Fde(partial) = entry else { continue };
            let Ok(fde) = partial.parse(EhFrame::cie_from_offset) else { continue };
            let start = fde.initial_address();
            // Linkers leave entries of discarded functions behind, with address 0.
            if start != 0 && fde.len() != 0 {
                ranges.push(start..start.saturating_add(fde.len()));
            }
        }
        ranges.sort_unstable_by_key(|range| (range.start, range.end));
        Self { ranges }
    }

    /// The function that holds an address.
    pub(super) fn find(&self, address: u64) -> Option<Range<u64>> {
        let after = self.ranges.partition_point(|range| range.start <= address);
        self.ranges[..after].last().filter(|range| range.contains(&address)).cloned()
    }
}
