//! Where functions begin and end in a file that does not name them.
//!
//! A stripped program still has `.eh_frame`, and compilers write one frame description entry (FDE)
//! for each function (psABI x86-64, 4.2.4). Its first address serves as a name,
//! `libfoo.so.1+0x4a30`, so that all samples of one function become one row, where there would
//! otherwise be one row for each sampled address. The split-off cold part of a function has an
//! entry of its own; [`machine`](super::machine) finds from the code which function it is part of.

use core::ops::Range;
use std::cell::OnceCell;

use gimli::{
    BaseAddresses, CieOrFde, CommonInformationEntry, EhFrame, EhFrameOffset, EndianSlice,
    LittleEndian, Pointer, UnwindSection as _,
};

use super::elf::{Elf, Section};

/// Bytes of an augmentation string at most; compilers write up to five.
const LONGEST_AUGMENTATION: usize = 64;

type Slice<'b> = EndianSlice<'b, LittleEndian>;
type Common<'b> = CommonInformationEntry<Slice<'b>>;

/// The functions of a file that has call frame information.
#[derive(Default)]
pub(super) struct Extents<'data> {
    frames: Option<Frames<'data>>,
    /// Ordered by address; read if there is no index.
    all: OnceCell<Vec<Extent>>,
}

/// The call frame information of a file.
struct Frames<'data> {
    section: Section<'data>,
    bases: BaseAddresses,
    index: Option<Index<'data>>,
}

/// What linkers write into `.eh_frame_hdr`: where each function begins and where its entry is,
/// ordered (Linux Standard Base 5.0, Core, 10.6.2). It is what unwinders find entries by, so what
/// is missing there is nowhere.
struct Index<'data> {
    /// What its addresses count from.
    base: u64,
    /// Two signed numbers of four bytes for each.
    entries: Section<'data>,
}

/// A function, or a part of one that a compiler split off. It ends where the next one begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Extent {
    /// ELF virtual addresses.
    pub(super) range: Range<u64>,
    /// Address of its language-specific data area, which says where exceptions go on.
    pub(super) lsda: Option<u64>,
}

/// The beginning of an index in the one form that linkers write: version 1, then how the address of
/// `.eh_frame`, the number of entries, and the entries are written.
const INDEX_FORM: [u8; 4] = [1, 0x1b, 0x03, 0x3b];

/// Bytes before the entries of an index, and of each of them.
const INDEX_HEADER: usize = 12;
const INDEX_ENTRY: usize = 8;

impl<'data> Index<'data> {
    fn read(elf: &Elf<'data>) -> Option<Self> {
        Self::of(elf.section(".eh_frame_hdr").ok()??)
    }

    fn of(entries: Section<'data>) -> Option<Self> {
        let header = entries.bytes.first_chunk::<INDEX_HEADER>()?;
        let count = u32::from_le_bytes(*header.last_chunk()?) as usize;
        let size = count.checked_mul(INDEX_ENTRY)?.checked_add(INDEX_HEADER)?;
        let is_whole = header.starts_with(&INDEX_FORM) && count > 0 && size <= entries.bytes.len();
        let index = Self { base: entries.address, entries };
        let mut starts = (0..count).map(|number| index.entry(number).map_or(0, |entry| entry.0));
        // Of entries that begin at one place, which linkers leave out, a damaged file may have
        // millions; without the index the longest is known.
        (is_whole && starts.by_ref().is_sorted_by(|a, b| a < b)).then_some(index)
    }

    fn len(&self) -> usize {
        let count = self.entries.bytes.get(8..INDEX_HEADER).and_then(<[u8]>::first_chunk);
        count.map_or(0, |count| u32::from_le_bytes(*count) as usize)
    }

    /// Where a function begins, and where its entry is.
    fn entry(&self, number: usize) -> Option<(u64, u64)> {
        let bytes = self.entries.bytes.get(INDEX_HEADER + number * INDEX_ENTRY..)?;
        let (start, bytes) = bytes.split_first_chunk()?;
        let address =
            |bytes: [u8; 4]| self.base.wrapping_add_signed(i64::from(i32::from_le_bytes(bytes)));
        Some((address(*start), address(*bytes.first_chunk()?)))
    }

    /// How many functions begin at an address or before it.
    fn up_to(&self, address: u64) -> usize {
        let (mut low, mut high) = (0, self.len());
        while low < high {
            let middle = low + (high - low) / 2;
            if self.entry(middle).is_some_and(|entry| entry.0 <= address) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }
}

impl Frames<'_> {
    /// The function that holds an address, by the index; an error if that does not fit the entries.
    fn find(&self, index: &Index<'_>, address: u64) -> Result<Option<Extent>, ()> {
        let after = index.up_to(address);
        let Some(last) = after.checked_sub(1) else { return Ok(None) };
        let (start, entry) = index.entry(last).ok_or(())?;
        let mut eh_frame = EhFrame::from(EndianSlice::new(&self.section.bytes, LittleEndian));
        eh_frame.set_address_size(8);
        let offset = entry.checked_sub(self.section.address).ok_or(())?;
        let offset = usize::try_from(offset).map_err(|_| ())?;
        let common = common_entry(&self.section.bytes);
        let fde = eh_frame.fde_from_offset(&self.bases, offset.into(), common).map_err(|_| ())?;
        if fde.initial_address() != start {
            return Err(());
        }
        let extent = extent(start, fde.len(), fde.lsda());
        let next = index.entry(after).filter(|_| after < index.len());
        Ok(Some(extent).filter(|extent| start != 0 && !extent.range.is_empty()).map(
            |mut extent| {
                extent.range.end = extent.range.end.min(next.map_or(u64::MAX, |entry| entry.0));
                extent
            },
        ))
    }
}

/// Reads what several entries have in common. It is read for each of them, so one whose
/// augmentation does not end soon is malformed.
fn common_entry<'b>(
    bytes: &'b [u8],
) -> impl Fn(&EhFrame<Slice<'b>>, &BaseAddresses, EhFrameOffset) -> gimli::Result<Common<'b>> {
    move |section, bases, at| {
        let entry = bytes.get(at.0..).unwrap_or_default();
        // Length, a zero, and the version; behind four bytes that are set the length has eight.
        let before = if entry.starts_with(&[0xff; 4]) { 17 } else { 9 };
        let augmentation = entry.get(before..).unwrap_or_default();
        let longest = &augmentation[..augmentation.len().min(LONGEST_AUGMENTATION)];
        match memchr::memchr(0, longest) {
            Some(_) => section.cie_from_offset(bases, at),
            None => Err(gimli::Error::UnknownAugmentation),
        }
    }
}

fn extent(start: u64, length: u64, lsda: Option<Pointer>) -> Extent {
    let lsda = match lsda {
        Some(Pointer::Direct(lsda)) if lsda != 0 => Some(lsda),
        _ => None,
    };
    Extent { range: start..start.saturating_add(length), lsda }
}

impl<'data> Extents<'data> {
    /// Reads the ranges of entries as they are asked for, by the index; without one those of all
    /// entries, as far as the first that is malformed.
    pub(super) fn read(elf: &Elf<'data>) -> Self {
        let address = |name| elf.section(name).ok().flatten().map_or(0, |s| s.address);
        let Ok(Some(section)) = elf.section(".eh_frame") else { return Self::default() };
        let bases = BaseAddresses::default()
            .set_eh_frame(section.address)
            .set_text(address(".text"))
            .set_got(address(".got"));
        let frames = Frames { section, bases, index: Index::read(elf) };
        Self { frames: Some(frames), all: OnceCell::new() }
    }

    fn from_eh_frame(bytes: &[u8], bases: &BaseAddresses) -> Vec<Extent> {
        let mut eh_frame = EhFrame::from(EndianSlice::new(bytes, LittleEndian));
        eh_frame.set_address_size(8);
        let mut extents = Vec::new();
        let mut entries = eh_frame.entries(bases);
        while let Ok(Some(entry)) = entries.next() {
            let CieOrFde::Fde(partial) = entry else { continue };
            let Ok(fde) = partial.parse(common_entry(bytes)) else { continue };
            let start = fde.initial_address();
            // Linkers leave entries of discarded functions behind, with address 0.
            if start != 0 && fde.len() != 0 {
                extents.push(extent(start, fde.len(), fde.lsda()));
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
        extents
    }

    /// The function that holds an address.
    pub(super) fn find(&self, address: u64) -> Option<Extent> {
        let frames = self.frames.as_ref()?;
        if let Some(index) = &frames.index
            && let Ok(found) = frames.find(index, address)
        {
            return found.filter(|extent| extent.range.contains(&address));
        }
        let all =
            self.all.get_or_init(|| Self::from_eh_frame(&frames.section.bytes, &frames.bases));
        let after = all.partition_point(|extent| extent.range.start <= address);
        all[..after].last().filter(|extent| extent.range.contains(&address)).cloned()
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use super::super::bytes::FileBytes;
    use super::*;

    /// What the index leads to in the files of this machine is what all entries say.
    #[test]
    fn the_index_leads_to_each_function() {
        let files = ["/proc/self/exe", "/lib/x86_64-linux-gnu/libc.so.6", "/bin/sh"];
        for path in files {
            let Ok(file) = File::open(path) else { continue };
            let bytes = FileBytes::of_file(file).unwrap();
            let elf = Elf::parse(&bytes).unwrap();
            let extents = Extents::read(&elf);
            let frames = extents.frames.as_ref().unwrap();
            let index = frames.index.as_ref().unwrap();
            let all = Extents::from_eh_frame(&frames.section.bytes, &frames.bases);
            assert!(all.len() > 100, "{path}");
            let whole = |address: u64| {
                let after = all.partition_point(|extent| extent.range.start <= address);
                all[..after].last().cloned()
            };
            for extent in &all {
                let (start, end) = (extent.range.start, extent.range.end);
                for address in [start, start - 1, start.midpoint(end), end - 1, end] {
                    assert_eq!(frames.find(index, address), Ok(whole(address)), "{path}");
                }
            }
            assert_eq!(extents.find(0), None);
            assert_eq!(extents.find(u64::MAX), None);
            assert!(extents.all.get().is_none(), "read without the index");
        }
    }

    /// A section of a common entry with this augmentation, and an entry of 16 bytes of code for it.
    fn entries(augmentation: &[u8]) -> Vec<u8> {
        let mut common = vec![0, 0, 0, 0, 1];
        common.extend(augmentation);
        common.extend([0, 1, 0x78, 16, 0]);
        common.resize(common.len().next_multiple_of(4), 0);
        let length = |bytes: &[u8]| u32::try_from(bytes.len()).unwrap().to_le_bytes();
        let mut bytes = [&length(&common)[..], &common].concat();
        let back = u32::try_from(bytes.len() + 4).unwrap().to_le_bytes();
        let own = [&back[..], &0x1000_u64.to_le_bytes(), &16_u64.to_le_bytes(), &[0; 4]].concat();
        bytes.extend(length(&own));
        bytes.extend(own);
        bytes
    }

    #[test]
    fn an_augmentation_is_short() {
        let read = |augmentation: &[u8]| {
            Extents::from_eh_frame(&entries(augmentation), &BaseAddresses::default())
        };
        assert_eq!(read(b""), [extent(0x1000, 16, None)]);
        let signals = |count| [&b"z"[..], &vec![b'S'; count]].concat();
        assert_eq!(read(&signals(9)), [extent(0x1000, 16, None)]);
        assert_eq!(read(&signals(1 << 20)), []);
    }

    /// Entries of a damaged index may all begin at one place.
    #[test]
    fn an_index_that_is_not_in_order_is_not_used() {
        let index = |starts: &[i32]| {
            let count = u32::try_from(starts.len()).unwrap().to_le_bytes();
            let mut bytes = [&INDEX_FORM[..], &[0; 4], &count].concat();
            bytes.extend(starts.iter().flat_map(|start| [*start, 0]).flat_map(i32::to_le_bytes));
            Index::of(Section { address: 0x1000, bytes: bytes.into() }).map(|index| index.len())
        };
        assert_eq!(index(&[]), None);
        assert_eq!(index(&[-4, 0, 7]), Some(3));
        assert_eq!(index(&[-4, 0, 0]), None);
        assert_eq!(index(&[7, 0]), None);
    }
}
